"""The public API of the trash."""

from __future__ import annotations

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
_SCOPES: Final = {"posts": "posts", "pages": "posts", "media": "media"}
"""The first part of the scopes, by type. Pages have none of their own."""


async def list_trash(call: Call) -> Page:
    wanted = call.query["type"]
    if wanted:
        _check_scope(call, wanted, "read")
        return await call.page(trash, equals("type", wanted))
    seen = [equals("type", each) for each in TYPES if _scope_of(each, "read") in _scopes(call)]
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
    if (needed := _scope_of(kind, action)) not in _scopes(call):
        raise lacks_scope(needed)


def _scope_of(kind: str, action: str) -> str:
    return f"{_SCOPES[kind]}:{action}"


def _scopes(call: Call) -> frozenset[str]:
    assert call.request.key is not None
    return call.request.key.scopes


routes = (
    Route(
        "GET",
        "/trash",
        list_trash,
        "posts:read",
        Shape.PAGE,
        other_scopes=("media:read",),
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
        other_scopes=("media:write",),
        view=ENTRY,
        may_conflict=True,
        summary="Restore a deleted post, page or file",
    ),
)
