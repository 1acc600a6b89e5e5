"""Tables of routes as data: the front door, the description of the API and the tests read them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import msgspec

from masthead.web.answers import Answer, Stream
from masthead.web.dispatch import Action, Route
from masthead.web.openapi.description import Description
from masthead.web.policy import Policy
from masthead.web.request import Request

RowHandler: TypeAlias = Callable[[Any, Request], Awaitable[Answer | Stream]]
"""Takes the services of its room, and the request."""


READ = "GET HEAD"


class RouteRow(msgspec.Struct, frozen=True):
    method: str
    """`READ` is GET with HEAD, whose response is GET's without its body."""
    path: str
    handler: RowHandler
    policy: Policy
    description: Description


def mount(rows: Iterable[RouteRow], services: Any) -> list[Route]:
    by_path: dict[str, dict[str, Action]] = {}
    for row in rows:
        actions = by_path.setdefault(row.path, {})
        action = Action(partial(row.handler, services), row.policy)
        actions.update(dict.fromkeys(row.method.split(), action))
    return [Route(path, actions) for path, actions in by_path.items()]
