"""One call of the public API: the caller, the parsed request, and the engine's operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masthead.base import ids
from masthead.base.caller import Caller
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of
from masthead.engine.records.read.page import ListRequest, Page
from masthead.engine.records.write.unit import Unit
from masthead.identity.directory import Tenant
from masthead.web.multipart import Upload
from masthead.web.request import Request
from masthead.web.services import WebServices
from masthead.web.v1.parameters import NEWEST
from masthead.web.v1.schema import View

_ANOTHER_ORDER = Problem(
    "validation_invalid_value",
    "Is a cursor of a list with another `sort`. Leave it out to begin with the first page.",
)
_NO_SUCH_RECORD = "There is no such record. It may have been deleted."


@dataclass(slots=True)
class Call:
    services: WebServices
    request: Request
    caller: Caller
    tenant: Tenant
    query: Mapping[str, Any]
    view: View | None = None
    """The route's, as the scopes of the key have it."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The checked values of the route's body, which the engine takes as they are; empty without
    one. A file is represented by its digest."""
    files: Mapping[str, Upload] = field(default_factory=dict)
    expected_version: int | None = None
    """The version in the `If-Match` header."""
    idempotency_key: str | None = None
    """The `Idempotency-Key` header, if the route supports it."""
    prepared: Any = None
    """The result of the route's `prepare`."""
    holds: bool = True
    """Until something of the site is changed. Otherwise the answer is neither cached nor has it an
    ETag."""
    unit: Unit = field(init=False)
    """The transaction of a call that changes something. All its changes go through it."""

    @property
    def records(self) -> Records:
        return self.services.records

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of the key."""
        assert self.request.key is not None
        return self.request.key.scopes

    @property
    def record_id(self) -> str:
        record_id: str = self.request.path_parameters["id"]
        if not ids.is_id(record_id):
            raise NotFound(_NO_SUCH_RECORD)
        return record_id

    @property
    def order(self) -> str:
        """The field by which the list is sorted; empty for newest first, as every search is."""
        sort = self.query.get("sort")
        return "" if sort in (None, NEWEST) or self.query.get("q") else str(sort)

    async def page(self, collection: Collection, *conditions: Expression, search: str = "") -> Page:
        """A page of the route's view, by number or after a cursor."""
        assert self.view is not None
        cursor, order = self.query["cursor"], self.order
        if cursor and cursor.order != order:
            raise Invalid({"cursor": _ANOTHER_ORDER})
        wanted = ListRequest(
            page=1 if cursor else self.query["page"],
            per_page=self.query["per_page"],
            filter=all_of(conditions) or "",
            after=cursor.position if cursor else None,
            sort=order,
            search=search,
            names=self.view.names,
        )
        return await self.records.page(self.caller, collection, wanted)

    async def get(self, collection: Collection) -> Record:
        """The record with its version, which becomes the answer's ETag."""
        return await self.records.require(
            collection, {"id": self.record_id}, tenant_id=self.tenant.id, missing=_NO_SUCH_RECORD
        )


def apply_view(view: View | None, record: Record) -> Record:
    assert view is not None
    return view.of(record)
