"""Redirects from the old address of a page, written in the transaction that moves the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from masthead.engine.records.changes import Change, Relisted
from masthead.engine.records.fields.text import Text
from masthead.engine.records.write.unit import Unit

REDIRECTS: Final = "redirects"
"""The collection of old addresses."""
MAX_CHANGED: Final = 100
"""Older addresses that follow when an address changes once more. More of them lead to it by way of
another redirect."""


class Move(NamedTuple):
    """A page of the site has another address: the old one redirects to it from the same moment."""

    old: str
    new: str


async def redirect(unit: Unit, moves: Sequence[Move]) -> None:
    """Checks no access: the change that moves the page does."""
    by_service = unit.by_service()
    for move in moves:
        await _redirect(by_service, move)


async def _redirect(unit: Unit, move: Move) -> None:
    old, new = move
    redirects = unit.registry[REDIRECTS]
    # The new address may be an older one of the same page, which must not lead away from it.
    for each in await unit.find(redirects, {"source": new}, limit=1):
        await unit.delete(redirects, each["id"])
    for each in await unit.find(redirects, {"destination": old}, limit=MAX_CHANGED):
        await unit.update(redirects, each["id"], {"destination": new})
    found = await unit.find_one(redirects, {"source": old})
    source = redirects.by_name["source"]
    assert isinstance(source, Text)
    if found:
        await unit.update(redirects, found["id"], {"destination": new})
    elif len(old) <= source.max:
        await unit.create(redirects, {"source": old, "destination": new})


class Moves(msgspec.Struct, frozen=True):
    """Follows a collection whose records have pages of their own."""

    of: Callable[[Change], Iterable[Move]]
    settle = staticmethod(redirect)

    def note(self, change: Change, _: Relisted) -> Iterable[Move]:
        return self.of(change)
