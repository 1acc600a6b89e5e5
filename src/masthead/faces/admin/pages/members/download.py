"""Members as CSV: the list that the caller sees, written while it is sent."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Iterable

from msgspec.structs import replace

from masthead.base.spreadsheet_cells import guard_cell
from masthead.engine.audit.collection import DOWNLOADED_MEMBERS
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Download
from masthead.faces.admin.environment import items_of
from masthead.faces.admin.lists import cursor_of
from masthead.faces.admin.pages.members.listing import MemberList
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.record_view import MemberRecord, as_member

COLUMNS = ("email", "name", "tier", "status", "newsletter", "labels", "created", "language")
ROWS = 1_000
"""Read and sent at once."""


async def download(request: AdminRequest) -> Answer:
    filters = MemberList.of(request.query)
    # Refuses before the answer begins.
    first = await _read(request, filters, None)
    await request.note(DOWNLOADED_MEMBERS)
    name = f"members-{request.now:%Y-%m-%d}.csv"
    return Download(_chunks(request, filters, first), name, "text/csv; charset=utf-8")


async def _chunks(
    request: AdminRequest, filters: MemberList, items: list[Record]
) -> AsyncIterator[bytes]:
    yield csv_lines([COLUMNS])
    listing = filters.listing(request)
    while items:
        yield csv_lines(_cells(as_member(each)) for each in items)
        if len(items) < ROWS:
            return
        items = await _read(request, filters, cursor_of(listing.mark(items[-1])))


async def _read(
    request: AdminRequest, filters: MemberList, after: tuple[str, str] | None
) -> list[Record]:
    listing = filters.listing(request)
    wanted = replace(listing.wanted, per_page=ROWS, after=after, skip_total=True)
    return (await request.records.page(request.caller, listing.collection, wanted)).items


def _cells(member: MemberRecord) -> list[str]:
    return [
        member["email"],
        member["name"],
        member["tier"],
        member["status"],
        "yes" if member["newsletter"] else "no",
        ", ".join(items_of(member["labels"])),
        member["created"],
        member["language"],
    ]


def csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([map(guard_cell, row) for row in rows])
    return text.getvalue().encode()
