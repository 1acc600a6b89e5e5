"""Mounts the route tables under `/api/v1`."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Receive, Scope

from masthead.identity.key_authentication import ApiKeys
from masthead.limits.rate_limiter import RateLimiter
from masthead.web.answers import Answer, Endpoint
from masthead.web.cache import AnswerCache
from masthead.web.dispatch import Route as Mounted
from masthead.web.errors import unknown_path
from masthead.web.v1.call import V1Services
from masthead.web.v1.endpoint import V1Endpoint
from masthead.web.v1.idempotency import Idempotency
from masthead.web.v1.routes import PREFIX, Route


def mount(
    table: Iterable[Route],
    services: V1Services,
    keys: ApiKeys,
    limiter: RateLimiter,
    idempotency: Idempotency,
    cache: AnswerCache,
) -> list[Mounted]:
    by_path: dict[str, dict[str, Route]] = {}
    for route in table:
        by_path.setdefault(route.path, {})[route.method] = route
    mounted = [
        Mounted(PREFIX + path, V1Endpoint(methods, services, keys, limiter, idempotency, cache))
        for path, methods in by_path.items()
    ]
    return [*mounted, Mounted(PREFIX + "/{rest:path}", _UnknownPath())]


class _UnknownPath(Endpoint):
    """Unknown paths below the prefix get the API's own error envelope."""

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        raise unknown_path(scope, "There is no such endpoint. The reference is at /api/v1/docs.")
