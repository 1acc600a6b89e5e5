"""The trash: what was deleted in the last 30 days, with a button to restore each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from masthead.base.errors import Forbidden, WrongState
from masthead.base.languages.words import words
from masthead.engine.records.access import Action, allow
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import any_of, equals
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import ListPage, Pick
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.features.trash.collection import TYPES, trash
from masthead.features.trash.emptying import begin_emptying

ADDRESS: Final = "/admin/trash"
LABELS: Final = {"posts": words("Posts"), "pages": words("Pages"), "media": words("Files")}
_NOUNS: Final = {"posts": words("Post"), "pages": words("Page"), "media": words("File")}
_TITLE: Final = 80
"""Characters of a title in a sentence."""


class TrashList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Trash")
    about = words("Deleted posts, pages and files stay here for 30 days.")
    collection = trash
    template = "trash/_list.html"
    page = "trash/list.html"
    picks = (Pick("type", words("What"), words("Everything"), LABELS),)
    empty = (
        words("The trash is empty"),
        words("Deleted items stay here for 30 days. Until then, you can restore them."),
    )

    type: str = ""

    def conditions(self, _: AdminRequest) -> list[Expression]:
        condition = any_of(
            [equals("type", each) for each in ((self.type,) if self.type else TYPES)]
        )
        return [condition] if condition else []

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        return {
            "names": {**await staff_names(request), "": words("An API key")},
            "nouns": _NOUNS,
            "may_empty": _sees_all(request),
            "picks": self.picks if items or self.is_narrow else (),
        }


async def restore(request: AdminRequest, entry_id: str) -> Answer:
    try:
        async with request.records.unit(request.caller) as unit:
            collection, record = await unit.restore(entry_id)
    except WrongState as error:
        return Redirect(ADDRESS, str(error))
    assert collection.trashed is not None
    title = record[collection.trashed.title][:_TITLE]
    return Redirect(_back(request), words("“%(title)s” is restored.", title=title))


def _back(request: AdminRequest) -> str:
    """Where the notice about the deletion was, or the trash."""
    if to := request.form.get("next", ""):
        return only_ours(to)
    return TrashList.of(request.form).url()


def restore_address(record: Record) -> str:
    """For the notice after the deletion of one record."""
    return f"{ADDRESS}/{record['id']}/restore"


async def delete_form(request: AdminRequest, entry_id: str) -> Answer:
    entry = await request.records.get(request.caller, trash, entry_id)
    title = words("Delete “%(title)s” for good?", title=entry["title"])
    return Page("trash/delete.html", title, {"entry": entry, "back": ADDRESS})


async def delete(request: AdminRequest, entry_id: str) -> Answer:
    entry = await request.records.delete(request.caller, trash, entry_id)
    return Redirect(
        ADDRESS, words("“%(title)s” is deleted for good.", title=entry["title"][:_TITLE])
    )


async def empty_form(request: AdminRequest) -> Answer:
    _check_sees_all(request)
    return Page("trash/empty.html", words("Empty the trash?"), {"back": ADDRESS})


async def empty(request: AdminRequest) -> Answer:
    _check_sees_all(request)
    await begin_emptying(request.records, request.caller)
    return Redirect(ADDRESS, words("The trash is being emptied."))


def _sees_all(request: AdminRequest) -> bool:
    return not allow(request.caller, trash, Action.DELETE)


def _check_sees_all(request: AdminRequest) -> None:
    """Authors see a part of it, so they can't empty it."""
    if not _sees_all(request):
        raise Forbidden(
            words("Authors can't empty the trash. Ask an editor or an owner of the site.")
        )
