"""Redirects from the old address of a page, written in the transaction that moves the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.records.changes import Move
from masthead.records.collection import Collection
from masthead.records.fields.text import Text

if TYPE_CHECKING:
    from masthead.records.write.unit import Unit

MAX_CHANGED: Final = 100
"""Older addresses that follow when an address changes once more. More of them lead to it by way of
another redirect."""


async def redirect(unit: Unit, redirects: Collection, move: Move) -> None:
    """`unit` must be allowed to change redirects, which most callers of the change are not."""
    old, new = move
    # The new address may be an older one of the same page, which must not lead away from it.
    for each in await unit.find(redirects, {"source": new}, limit=1):
        await unit.delete(redirects, each["id"])
    for each in await unit.find(redirects, {"destination": old}, limit=MAX_CHANGED):
        await unit.update(redirects, each["id"], {"destination": new})
    found = await unit.find(redirects, {"source": old}, limit=1)
    source = redirects.by_name["source"]
    assert isinstance(source, Text)
    if found:
        await unit.update(redirects, found[0]["id"], {"destination": new})
    elif len(old) <= source.max:
        await unit.create(redirects, {"source": old, "destination": new})
