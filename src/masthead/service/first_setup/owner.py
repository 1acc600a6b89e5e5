"""The user that the service runs as, whether this machine has it yet or not."""

from __future__ import annotations

import os
import pwd
import re

import msgspec

DEFAULT_USER = "masthead"
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")


class Owner(msgspec.Struct, frozen=True):
    name: str
    ids: tuple[int, int] | None
    """The user's and the group's; None: there is no such user."""

    @property
    def can_be_given_files(self) -> bool:
        """Only root gives files away."""
        return self.ids is not None and (os.geteuid() == 0 or self.is_caller)

    @property
    def is_caller(self) -> bool:
        return self.ids is not None and self.ids[0] == os.geteuid()


def find_owner(name: str) -> Owner:
    """Raises ValueError if no user could have the name."""
    if not _NAME.match(name):
        raise ValueError("must be the name of a user, such as masthead")
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return Owner(name, None)
    return Owner(name, (found.pw_uid, found.pw_gid))


def default_user() -> str:
    """The caller, but never root."""
    if os.geteuid() == 0:
        return DEFAULT_USER
    return pwd.getpwuid(os.geteuid()).pw_name
