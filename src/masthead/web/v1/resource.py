"""The usual five operations on the records of one collection: list, create, view, change, delete.
A resource names what is its own; what it does otherwise is a row of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.read.page import Page
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import Handler, Route, delete, get, list_of, patch, post, put
from masthead.web.v1.schema import Body, View

Conditions = Callable[[Call], Iterable[Expression]]
Show = Callable[[Record], Record]
Given = Callable[[Call], Awaitable[Mapping[str, Any]]]


def _no_conditions(_: Call) -> Iterable[Expression]:
    return ()


async def _body(call: Call) -> Mapping[str, Any]:
    return call.body


class Resource(Struct, frozen=True, kw_only=True):
    collection: Collection
    path: str
    noun: tuple[str, str]
    """One and several of them, as the names of the operations and their summaries have it."""
    scopes: tuple[str, str]
    """To read and to write."""
    view: View
    summary: View | None = None
    """The items of the list, if they show less."""
    filters: tuple[Parameter, ...] = ()
    conditions: Conditions = _no_conditions
    """The expressions that the filters of a call mean."""
    shown: Callable[[Call], Show] | None = None
    """Makes, once for a call, what adds to each record the fields that it does not store."""
    given: Given = _body
    """The values of a body, inside the transaction."""
    create: Body | None = None
    update: Body | None = None
    has_view: bool = True
    takes_put: bool = False
    may_conflict: bool = False
    """A deletion is refused in some states of a record."""
    order: str = "newest first"

    @property
    def routes(self) -> tuple[Route, ...]:
        return tuple(self._routes())

    def _routes(self) -> Iterator[Route]:
        one, many = self.noun
        reads, writes = self.scopes
        record, view = f"{self.path}/{{id}}", self.view
        yield list_of(
            self.path,
            self._list(),
            scope=reads,
            view=self.summary or view,
            filters=self.filters,
            summary=f"List {many}, {self.order}",
        )
        if body := self.create:
            summary = f"Create a {one}"
            handler = self._create()
            yield post(self.path, handler, scope=writes, view=view, body=body, summary=summary)
        if self.has_view:
            yield get(record, self._get(), scope=reads, view=view, summary=f"View a {one}")
        if body := self.update:
            summary = f"Change a {one}"
            handler = self._update()
            yield patch(record, handler, scope=writes, view=view, body=body, summary=summary)
            if self.takes_put:
                summary += " (same as PATCH)"
                yield put(record, handler, scope=writes, view=view, body=body, summary=summary)
        summary = f"Delete a {one}"
        if self.collection.trashed is not None:
            summary += "; for 30 days it can be restored from the trash"
        conflict = self.may_conflict
        handler = self._delete()
        yield delete(record, handler, scope=writes, may_conflict=conflict, summary=summary)

    def _list(self) -> Handler:
        async def handle(call: Call) -> Page:
            conditions = self.conditions(call)
            search = call.query.get("q") or ""
            page = await call.page(self.collection, *conditions, search=search)
            if self.shown is None:
                return page
            return replace(page, items=[*map(self.shown(call), page.items)])

        return _named(handle, f"list_{self.noun[1]}")

    def _create(self) -> Handler:
        async def handle(call: Call) -> Record:
            return self._show(call, await call.unit.create(self.collection, await self.given(call)))

        return _named(handle, f"create_{self.noun[0]}")

    def _get(self) -> Handler:
        async def handle(call: Call) -> Record:
            return self._show(call, await call.get(self.collection))

        return _named(handle, f"get_{self.noun[0]}")

    def _update(self) -> Handler:
        async def handle(call: Call) -> Record:
            given, version = await self.given(call), call.expected_version
            record = await call.unit.update(
                self.collection, call.record_id, given, expected_version=version
            )
            return self._show(call, record)

        return _named(handle, f"update_{self.noun[0]}")

    def _delete(self) -> Handler:
        async def handle(call: Call) -> None:
            version = call.expected_version
            await call.unit.delete(self.collection, call.record_id, expected_version=version)

        return _named(handle, f"delete_{self.noun[0]}")

    def _show(self, call: Call, record: Record) -> Record:
        return self.shown(call)(record) if self.shown else record


def _named(handler: Handler, name: str) -> Handler:
    """The description names the operation by it."""
    handler.__name__ = name
    return handler
