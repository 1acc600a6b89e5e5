"""The trash: what was deleted in the last 30 days, with a button to restore each."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import ClassVar, Final

import msgspec

from masthead.base.errors import Forbidden, WrongState
from masthead.engine.records.access import Action, allow
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import any_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, options, read_page
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.features.trash.collection import TYPES, trash
from masthead.features.trash.emptying import begin_emptying

ADDRESS: Final = "/admin/trash"
LABELS: Final = {"posts": "Posts", "pages": "Pages", "media": "Files"}
_NOUNS: Final = {"posts": "Post", "pages": "Page", "media": "File"}
_TITLE: Final = 80
"""Characters of a title in a sentence."""


class TrashFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {"type": TYPES}

    type: str = ""

    def listing(self) -> Listing:
        types = (self.type,) if self.type else TYPES
        condition = any_of([equals("type", each) for each in types])
        wanted = ListRequest(filter=condition or "", sort="-created", skip_total=True)
        return Listing(trash, wanted, self.url)


class TrashRow(msgspec.Struct, frozen=True):
    id: str
    title: str
    kind: str
    by: str
    deleted: str
    deleted_at: str
    expires: str
    expires_at: str


async def trash_page(request: AdminRequest) -> Answer:
    filters = TrashFilters.of(request.query)
    page = await read_page(request, filters.listing())
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    names = await staff_names(request)
    values = {
        "filters": filters,
        "rows": [_row(request, each, names) for each in items],
        "pager": pager,
        "types": options(LABELS),
        "may_empty": _sees_all(request),
    }
    return Page("trash/list.html", "Trash", values, fragment="trash/_list.html")


def _row(request: AdminRequest, entry: Record, names: Mapping[str, str]) -> TrashRow:
    expires = request.local(entry["expires_at"])
    return TrashRow(
        entry["id"],
        entry["title"],
        _NOUNS[entry["type"]],
        names.get(entry["deleted_by"], "An API key" if not entry["deleted_by"] else ""),
        request.when(entry["deleted_at"]),
        entry["deleted_at"],
        f"{expires.day} {expires:%b %Y}",
        entry["expires_at"],
    )


async def restore(request: AdminRequest, entry_id: str) -> Answer:
    try:
        async with request.records.unit(request.caller) as unit:
            collection, record = await unit.restore(entry_id)
    except WrongState as error:
        return Redirect(ADDRESS, str(error))
    assert collection.trashed is not None
    title = record[collection.trashed.title][:_TITLE]
    return Redirect(_back(request), f"“{title}” is restored.")


def _back(request: AdminRequest) -> str:
    """Where the notice about the deletion was, or the trash."""
    if to := request.form.get("next", ""):
        return only_ours(to)
    return TrashFilters.of(request.form).url()


def restore_address(record: Record) -> str:
    """For the notice after the deletion of one record."""
    return f"{ADDRESS}/{record['id']}/restore"


async def delete_form(request: AdminRequest, entry_id: str) -> Answer:
    entry = await request.records.get(request.caller, trash, entry_id)
    title = f"Delete “{entry['title']}” for good?"
    return Page("trash/delete.html", title, {"entry": entry, "back": ADDRESS})


async def delete(request: AdminRequest, entry_id: str) -> Answer:
    entry = await request.records.delete(request.caller, trash, entry_id)
    return Redirect(ADDRESS, f"“{entry['title'][:_TITLE]}” is deleted for good.")


async def empty_form(request: AdminRequest) -> Answer:
    _check_sees_all(request)
    return Page("trash/empty.html", "Empty the trash?", {"back": ADDRESS})


async def empty(request: AdminRequest) -> Answer:
    _check_sees_all(request)
    await begin_emptying(request.records, request.caller)
    return Redirect(ADDRESS, "The trash is being emptied.")


def _sees_all(request: AdminRequest) -> bool:
    return not allow(request.caller, trash, Action.DELETE)


def _check_sees_all(request: AdminRequest) -> None:
    """Authors see a part of it, so they can't empty it."""
    if not _sees_all(request):
        raise Forbidden("Authors can't empty the trash. Ask an editor or an owner of the site.")
