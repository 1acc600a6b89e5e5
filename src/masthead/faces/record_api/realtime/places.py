"""Places in a tenant's log as clients have them: the `id` of a message, which comes back as
`Last-Event-ID`."""

from __future__ import annotations

import re
from typing import NamedTuple

from masthead.engine.records.write.unit_changes import LogPlace

_WRITTEN = re.compile(r"v([0-9a-f]{1,15})-([0-9a-f]{1,8})-([0-9a-f]{1,8})\Z")


class SentPlace(NamedTuple):
    version: int
    ordinal: int
    number: int
    """The number of the subscription: a change may be sent for several, one message each."""

    @property
    def place(self) -> LogPlace:
        return LogPlace(self.version, self.ordinal)

    def __str__(self) -> str:
        return f"v{self.version:x}-{self.ordinal:x}-{self.number:x}"


def read_place(text: str) -> SentPlace | None:
    """None for anything that is not the id of one of our messages."""
    found = _WRITTEN.match(text)
    return SentPlace(*(int(each, 16) for each in found.groups())) if found else None


def after_version(version: int) -> SentPlace:
    """The place after everything of a version."""
    return SentPlace(version, MAX_ORDINAL, MAX_NUMBER)


MAX_ORDINAL = 2**31 - 1
MAX_NUMBER = 2**32
