"""The declaration of a v1 endpoint: an entry of a table that the router, the scope check, OpenAPI
and the tests read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from masthead.web.policy import Body as BodyPolicy
from masthead.web.policy import BodyKind, Cache, Limit, Policy, Who
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import PAGING, Parameter
from masthead.web.v1.schema import Body, View

PREFIX = "/api/v1"

Handler = Callable[[Call], Awaitable[Any]]
Prepare = Callable[[Call], AbstractAsyncContextManager[Any]]


class Shape(StrEnum):
    """How an answer wraps its record."""

    PAGE = "page"
    RECORD = "record"
    DATA = "data"
    LIST = "list"
    """All records, without pages."""
    UNWRAPPED = "unwrapped"
    """The struct of the route's example."""
    EMPTY = "empty"


class Route(msgspec.Struct, frozen=True, dict=True):
    method: str
    path: str
    handler: Handler
    scope: str
    shape: Shape
    status: int = 200
    view: View | None = None
    body: Body | None = None
    example: msgspec.Struct | None = None
    """An answer that is no view of a record: the handler's struct."""
    parameters: tuple[Parameter, ...] = ()
    other_scopes: tuple[str, ...] = ()
    """See `Policy.other_scopes`."""
    is_upload: bool = False
    """The body is a form with files."""
    prepare: Prepare | None = None
    """Entered before the transaction and left after it, for slow work such as storing a file. Its
    result is the call's `prepared`."""
    is_cacheable: bool = False
    is_secret: bool = False
    """The answer shows a secret once; for a repeated call it is stored encrypted."""
    may_conflict: bool = False
    """Refused in some states of a record."""
    calls_out: bool = False
    """Makes network calls, so it never runs inside a transaction."""
    summary: str = ""
    tag: str = ""

    @cached_property
    def policy(self) -> Policy:
        return Policy(
            who=Who.KEY,
            scope=self.scope,
            other_scopes=self.other_scopes,
            limit=Limit.CALLS,
            body=self._body_policy,
            cache=Cache.VERSIONED if self.is_cacheable else Cache.NOBODY,
            is_repeatable=self.method == "POST" and not self.calls_out,
        )

    @property
    def _body_policy(self) -> BodyPolicy | None:
        if self.is_upload:
            return BodyPolicy(BodyKind.FILES, files=1)
        return BodyPolicy(BodyKind.JSON) if self.body else None

    @property
    def opens_unit(self) -> bool:
        """Its handler changes records, all in one transaction."""
        return self.method != "GET" and not self.calls_out

    @property
    def path_names(self) -> frozenset[str]:
        return frozenset(each[1:-1] for each in self.path.split("/") if each.startswith("{"))

    @property
    def has_id(self) -> bool:
        return "id" in self.path_names


def list_of(
    path: str,
    handler: Handler,
    *,
    scope: str,
    view: View,
    filters: tuple[Parameter, ...] = (),
    **more: Any,
) -> Route:
    return Route(
        "GET",
        path,
        handler,
        scope,
        Shape.PAGE,
        view=view,
        parameters=(*PAGING, *filters),
        is_cacheable=True,
        **more,
    )


def get(path: str, handler: Handler, *, scope: str, view: View, **more: Any) -> Route:
    return Route("GET", path, handler, scope, Shape.RECORD, view=view, is_cacheable=True, **more)


def post(path: str, handler: Handler, *, scope: str, view: View, **more: Any) -> Route:
    return Route("POST", path, handler, scope, Shape.DATA, status=201, view=view, **more)


def patch(path: str, handler: Handler, *, scope: str, view: View, body: Body, **more: Any) -> Route:
    return Route("PATCH", path, handler, scope, Shape.DATA, view=view, body=body, **more)


def put(path: str, handler: Handler, *, scope: str, view: View, body: Body, **more: Any) -> Route:
    """The same as PATCH, for clients that send PUT."""
    return Route("PUT", path, handler, scope, Shape.DATA, view=view, body=body, **more)


def delete(path: str, handler: Handler, *, scope: str, **more: Any) -> Route:
    return Route("DELETE", path, handler, scope, Shape.EMPTY, status=204, **more)
