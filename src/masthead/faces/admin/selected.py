"""The rows that a form changes: the ticked ones, or all that the list shows on its pages."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from masthead.faces.admin.lists import Listing, cursor_of
from masthead.faces.admin.request import AdminRequest

SELECT = "select."
"""Begins the name of a row's checkbox; the id of its record follows."""
MOST = 5_000
"""In one request, so that it ends before a browser gives up."""
PER_UNIT = 100
"""Changes of others need not wait for all of it."""


def ticked(form: Mapping[str, str]) -> list[str]:
    return [name.removeprefix(SELECT) for name in form if name.startswith(SELECT)]


async def find_matching(request: AdminRequest, listing: Listing) -> list[str]:
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
