"""The imports of a site, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, read_page
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.collection import (
    DONE,
    FAILED,
    IMPORT,
    PICTURES,
    PREVIEW,
    QUEUED,
    UNDO,
    import_runs,
)

ADDRESS = "/admin/tools/import"
NEW = f"{ADDRESS}/new"
PLATFORMS = {"wordpress": "WordPress", "ghost": "Ghost", "substack": "Substack"}
_DOING = {
    PREVIEW: "Being read",
    IMPORT: "Being imported",
    PICTURES: "Copying pictures",
    UNDO: "Being undone",
}
_DONE = {
    PREVIEW: ("warn", "Ready for you to review"),
    IMPORT: ("good", "Imported"),
    PICTURES: ("good", "Imported"),
    UNDO: ("draft", "Undone"),
}
_FAILED = {
    PREVIEW: "Refused",
    IMPORT: "Failed",
    PICTURES: "Pictures failed",
    UNDO: "Undo failed",
}
_FIELDS = frozenset({"platform", "task", "state", "file_name", "error", "created"})


class RunFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS

    def listing(self) -> Listing:
        wanted = ListRequest(sort="-created", names=_FIELDS, skip_total=True)
        return Listing(import_runs, wanted, self.url)


class ImportRow(msgspec.Struct, frozen=True):
    url: str
    file_name: str
    platform: str
    badge: str
    state: str
    error: str
    at: str
    when: str


async def imports_page(request: AdminRequest) -> Answer:
    filters = RunFilters.of(request.query)
    page = await read_page(request, filters.listing())
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    values = {"rows": [_row(request, each) for each in items], "pager": pager, "new": NEW}
    return Page("imports/list.html", "Import", values, fragment="imports/_list.html")


def _row(request: AdminRequest, run: Record) -> ImportRow:
    badge, state = state_of(run)
    return ImportRow(
        f"{ADDRESS}/{run['id']}",
        run["file_name"],
        PLATFORMS[run["platform"]],
        badge,
        state,
        without_flags(run["error"]),
        run["created"],
        request.when(run["created"]),
    )


def state_of(run: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of badge, and the word."""
    task, state = run["task"], run["state"]
    if state == DONE:
        return _DONE[task]
    if state == FAILED:
        return "bad", _FAILED[task]
    return ("draft", "Waiting for its turn") if state == QUEUED else ("info", _DOING[task])


def without_flags(text: str) -> str:
    """A sentence of the engine, without the flag of the command line at its end."""
    before, mark, after = text.partition(" (--")
    return before + after.partition(")")[2] if mark else text
