"""A face that is imported and built after the start, or by its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from masthead.base.errors import MastheadError
from masthead.web.answers import Answer, Stream
from masthead.web.request import Request

if TYPE_CHECKING:
    from masthead.web.dispatch import Dispatch


class Face(Protocol):
    @property
    def routes(self) -> Dispatch: ...

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream: ...


class LazyFace:
    """Has the routes of all its paths: the front door asks it for them.

    `build` runs in a thread, because it takes some tenths of a second: the event loop answers other
    requests meanwhile, and those to this face wait."""

    def __init__(self, build: Callable[[], Face]) -> None:
        self._build = build
        self._face: Face | None = None
        self._building = asyncio.Lock()

    async def load(self) -> Face:
        if self._face is None:
            async with self._building:
                if self._face is None:
                    self._face = await asyncio.to_thread(self._build)
        return self._face

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream:
        return await (await self.load()).error_answer(request, error)
