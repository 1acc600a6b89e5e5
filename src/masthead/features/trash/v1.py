"""The public API of the trash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from masthead.base.errors import NotFound
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import any_of, equals
from masthead.engine.records.read.page import Page
from masthead.features.trash.collection import TYPES, trash
from masthead.web.v1.call import Call
from masthead.web.v1.errors import lacks_scope
from masthead.web.v1.parameters import PAGING, Parameter
from masthead.web.v1.routes import Route, Shape
from masthead.web.v1.schema import View

ENTRY = View(
    "TrashEntry",
    trash,
    ("id", "type", "record_id", "title", "slug", "deleted_at", "expires_at", "created"),
    nullable=frozenset({"slug"}),
    help="A deleted post, page or file.",
)
TYPE = Parameter(
    "type",
    "Only what was deleted from here. Without it, all that the scopes of the key let you see.",
    "choice",
    choices=TYPES,
)
_SCOPES: Final = {"posts": ("posts",), "pages": ("pages", "posts"), "media": ("media",)}
"""The first parts of the scopes, by type. Pages have not always had scopes of their own."""


async def list_trash(call: Call) -> Page:
    wanted = call.query["type"]
    if wanted:
        _check_scope(call, wanted, "read")
        return await call.page(trash, equals("type", wanted))
    seen = [equals("type", each) for each in TYPES if _admits(call, _scopes_of(each, "read"))]
    condition = any_of(seen)
    assert condition is not None
    return await call.page(trash, condition)


async def restore_from_trash(call: Call) -> Record:
    """The entry, with the slug that the text has now."""
    found = await call.unit.find(trash, {"id": call.record_id}, limit=1)
    if not found:
        raise NotFound("There is no such entry in the trash. It may be restored already.")
    [entry] = found
    _check_scope(call, entry["type"], "write")
    collection, record = await call.unit.restore(entry["id"])
    return {**entry, "slug": record[collection.slug.name] if collection.slug else ""}


def _check_scope(call: Call, kind: str, action: str) -> None:
    needed = _scopes_of(kind, action)
    if not _admits(call, needed):
        raise lacks_scope(*needed)


def _scopes_of(kind: str, action: str) -> list[str]:
    return [f"{each}:{action}" for each in _SCOPES[kind]]


def _admits(call: Call, scopes: Iterable[str]) -> bool:
    return not call.scopes.isdisjoint(scopes)


routes = (
    Route(
        "GET",
        "/trash",
        list_trash,
        "posts:read",
        Shape.PAGE,
        other_scopes=("pages:read", "media:read"),
        view=ENTRY,
        parameters=(*PAGING, TYPE),
        summary="List what was deleted in the last 30 days, newest first",
    ),
    Route(
        "POST",
        "/trash/{id}/restore",
        restore_from_trash,
        "posts:write",
        Shape.DATA,
        other_scopes=("pages:write", "media:write"),
        view=ENTRY,
        may_conflict=True,
        summary="Restore a deleted post, page or file",
    ),
)
