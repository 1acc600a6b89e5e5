"""The imports of a site, newest first."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar

from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.lists import Filters, Listing, read_page
from masthead.admin.request import AdminRequest
from masthead.importers.collection import DONE, FAILED, QUEUED, RUNNING, import_runs
from masthead.records.collection import Record
from masthead.records.engine import ListRequest

ADDRESS = "/admin/tools/import"
PLATFORMS = {"wordpress": "WordPress", "ghost": "Ghost", "substack": "Substack"}
_STATES = {
    QUEUED: ("draft", "Waits"),
    RUNNING: ("info", "Running"),
    DONE: ("good", "Imported"),
    FAILED: ("bad", "Failed"),
}
_FIELDS = frozenset({"platform", "state", "file_name", "dry_run", "error", "created"})


@dataclass(frozen=True, slots=True)
class RunFilters(Filters):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {}

    def listing(self) -> Listing:
        wanted = ListRequest(sort="-created", names=_FIELDS, skip_total=True)
        return Listing(import_runs, wanted, self.url)


@dataclass(frozen=True, slots=True)
class Row:
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
        return Moved(filters.url())
    items, pager = page
    values = {"rows": [_row(request, each) for each in items], "pager": pager}
    return Shown("imports/list.html", "Import", values, fragment="imports/_list.html")


def _row(request: AdminRequest, run: Record) -> Row:
    badge, state = _STATES[run["state"]]
    return Row(
        run["file_name"],
        PLATFORMS[run["platform"]],
        badge,
        state,
        run["error"],
        run["created"],
        request.when(run["created"]),
    )
