"""Who may open an uploaded file: whoever may read a part of a record that has its address.

Each such part puts the record into a list by the file's id, for the audience that may read it and
from the time on. So one lookup answers whether somebody may open a file, however often it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from masthead.base.caller import Audience, Reader
from masthead.engine.records.collection import Record

EVERYONE: Final = "files for everyone"
"""The records that everyone could read when they were saved. `open_uses` of a file counts them."""
_EVERYONE_LATER: Final = "files for everyone later"
_LISTS: Final = {Audience.FREE: "files for members", Audience.PAID: "files for paid members"}
_OF_A_LEVEL: Final = "files for level {level}"


class Part(NamedTuple):
    """Texts of a record, who may read them, and from when on."""

    texts: tuple[str, ...]
    audience: Audience
    since: str
    levels: tuple[str, ...] = ()
    """Only paid members with one of these; empty: all of them."""


class ShownParts(msgspec.Struct, frozen=True):
    """Which parts of a record are on the site."""

    by: tuple[str, ...]
    """The fields that decide it, beside those with the texts."""
    parts: Callable[[Record], Iterable[Part]]
    since: str = ""
    """The field with the time from which they are there."""


def lists_of(part: Part, saved: str) -> Iterator[str]:
    """The lists of a part's files. What was not out yet when it was saved has a list of its own:
    no save moves it to the other one at its time."""
    if part.audience is Audience.GUEST:
        yield EVERYONE if part.since <= saved else _EVERYONE_LATER
    elif part.levels:
        yield from (_OF_A_LEVEL.format(level=each) for each in part.levels)
    else:
        yield _LISTS[part.audience]


def lists_for(reader: Reader) -> tuple[str, ...]:
    """The lists of the files that this reader may open."""
    more = [name for needed, name in _LISTS.items() if reader.audience >= needed]
    if reader.audience is Audience.PAID and reader.level:
        more.append(_OF_A_LEVEL.format(level=reader.level))
    return (EVERYONE, _EVERYONE_LATER, *more)


def is_open(item: Mapping[str, Any]) -> bool:
    """Whether everyone may open the file. One that nothing has used yet may be for a front end of
    which this service knows nothing."""
    return not item["private"] and (item["open_uses"] is None or item["open_uses"] > 0)
