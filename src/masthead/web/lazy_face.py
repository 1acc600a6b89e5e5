"""A face that is imported and built after the start, or by its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from masthead.errors import MastheadError


class Face(Protocol):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def send_error(self, scope: Scope, send: Send, error: MastheadError) -> None: ...


class LazyFace:
    """`build` runs in a thread, because it takes some tenths of a second: the event loop answers
    other requests meanwhile, and those to this face wait."""

    def __init__(self, build: Callable[[], Face]) -> None:
        self._build = build
        self._face: Face | None = None
        self._building = asyncio.Lock()

    def at(self, *paths: str) -> list[Route]:
        return [Route(path, self) for path in paths]

    async def load(self) -> Face:
        if self._face is None:
            async with self._building:
                if self._face is None:
                    self._face = await asyncio.to_thread(self._build)
        return self._face

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.load())(scope, receive, send)

    async def send_error(self, scope: Scope, send: Send, error: MastheadError) -> None:
        await (await self.load()).send_error(scope, send, error)
