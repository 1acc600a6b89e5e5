"""Mounts the route tables under `/api/v1`."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import Route as Mounted
from starlette.types import Receive, Scope, Send

from masthead.identity.key_authentication import ApiKeys
from masthead.limits.rate_limiter import RateLimiter
from masthead.web.cache import AnswerCache
from masthead.web.errors import unknown_path
from masthead.web.v1.call import V1Services
from masthead.web.v1.endpoint import Endpoint
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
        Mounted(PREFIX + path, Endpoint(methods, services, keys, limiter, idempotency, cache))
        for path, methods in by_path.items()
    ]
    return [*mounted, Mounted(PREFIX + "/{rest:path}", _UnknownPath())]


class _UnknownPath:
    """Unknown paths below the prefix get the API's own error envelope."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise unknown_path(scope, "There is no such endpoint. The reference is at /api/v1/docs.")
