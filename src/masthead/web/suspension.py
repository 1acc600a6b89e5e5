"""What a suspended site answers: at its own addresses nothing but 403, except where a face decides
by itself.

403 and not 503: a shared cache in front may show its stored page instead of a 503.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from masthead.errors import SiteSuspended
from masthead.web.request_context import request_context


class Suspension:
    """Closed unless named: `open_paths` are those that a suspended site answers, each with all
    below it."""

    def __init__(self, app: ASGIApp, open_paths: Iterable[str]) -> None:
        self._app = app
        self._exact = frozenset(open_paths)
        self._below = tuple(f"{each.removesuffix('/')}/" for each in self._exact)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = request_context(scope).tenant if scope["type"] == "http" else None
        if tenant is not None and tenant.is_suspended and not self._is_open(scope["path"]):
            raise SiteSuspended
        await self._app(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._below)
