"""Mounts the route tables under `/api/v1`."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.web.answers import Answer
from masthead.web.dispatch import ANY_METHOD, Action
from masthead.web.dispatch import Route as Mounted
from masthead.web.errors import unknown_path
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.v1.endpoint import V1Answers
from masthead.web.v1.routes import PREFIX, Route

_NOTHING_HERE = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)


def mount(table: Iterable[Route], answers: V1Answers) -> list[Mounted]:
    by_path: dict[str, dict[str, Action]] = {}
    for route in table:
        actions = by_path.setdefault(PREFIX + route.path, {})
        actions[route.method] = action = answers.action(route)
        if route.method == "GET":
            actions["HEAD"] = action
    return [
        *(Mounted(path, actions) for path, actions in by_path.items()),
        Mounted(PREFIX + "/{rest:path}", {ANY_METHOD: Action(_find_nothing, _NOTHING_HERE)}),
    ]


async def _find_nothing(request: Request) -> Answer:
    """Unknown paths below the prefix get the API's own error envelope."""
    raise unknown_path(request, "There is no such endpoint. The reference is at /api/v1/docs.")
