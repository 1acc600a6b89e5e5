"""The rows that a form changes: the ticked ones, or all that the list shows on its pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base.errors import NotFound
from masthead.base.languages.words import both_numbers, counted, words
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.environment import number
from masthead.faces.admin.lists import Listing, cursor_of
from masthead.faces.admin.request import AdminRequest
from masthead.features.undo.undoing import Steps

SELECT = "select."
"""Begins the name of a row's checkbox; the id of its record follows."""
MOST = 5_000
"""In one request, so that it ends before a browser gives up."""
PER_UNIT = 100
"""Changes of others need not wait for all of it."""


class Selection(msgspec.Struct, frozen=True):
    ids: Sequence[str]
    is_all: bool = False
    """All that match, instead of the ticked ones."""

    def values(self) -> dict[str, Any]:
        """For the question before the change: `ui/selected.html`."""
        return {
            "count": len(self.ids),
            "is_all": self.is_all,
            "ticked": [] if self.is_all else [f"{SELECT}{each}" for each in self.ids],
            "has_limit": self.is_all and len(self.ids) == MOST,
        }


def ticked(form: Mapping[str, str]) -> list[str]:
    return [name.removeprefix(SELECT) for name in form if name.startswith(SELECT)]


async def read_selection(request: AdminRequest, listing: Listing) -> Selection:
    if request.form.get("all") == "1":
        return Selection(await _find_matching(request, listing), is_all=True)
    return Selection(ticked(request.form))


async def change_each(
    request: AdminRequest,
    steps: Steps,
    ids: Sequence[str],
    change: Callable[[Unit, str], Awaitable[None]],
) -> Steps:
    """Records that are deleted, or that the caller may not change, are skipped."""
    for start in range(0, len(ids), PER_UNIT):
        async with request.records.unit(request.caller) as unit:
            for record_id in ids[start : start + PER_UNIT]:
                with suppress(NotFound):
                    await change(unit, record_id)
            steps.save(unit)
    return steps


def things(subject: str, count: int) -> str:
    """So many records of a collection, in words."""
    one, many = _THINGS[subject]
    return counted(one, many, count, count=number(count))


def done_in_words(subject: str, done: str, changed: int, asked: int) -> str:
    if not changed:
        return words("Nothing needed to change.")
    what = things(subject, changed)
    said = counted("%(what)s is %(done)s.", "%(what)s are %(done)s.", changed, what=what, done=done)
    if rest := asked - changed:
        left = counted(
            "One was not changed.", "%(count)s were not changed.", rest, count=number(rest)
        )
        return f"{said} {left}"
    return said


_THINGS = {
    "posts": both_numbers("%(count)s post", "%(count)s posts"),
    "pages": both_numbers("%(count)s page", "%(count)s pages"),
    "media": both_numbers("%(count)s file", "%(count)s files"),
    "comments": both_numbers("%(count)s comment", "%(count)s comments"),
    "blog_members": both_numbers("%(count)s member", "%(count)s members"),
}


async def _find_matching(request: AdminRequest, listing: Listing) -> list[str]:
    """The ids of all records of the list, up to `MOST`."""
    found: list[str] = []
    after: tuple[str, str] | None = None
    beginning = replace(listing.wanted, skip_total=True)
    while len(found) < MOST:
        wanted = replace(beginning, per_page=min(1_000, MOST - len(found)), after=after)
        page = await request.records.page(request.caller, listing.collection, wanted)
        if not page.items:
            break
        found += [each["id"] for each in page.items]
        after = cursor_of(listing.mark(page.items[-1]))
    return found
