"""The loop's own clock, moved on by a far side that takes its time.

What has a limit then ends when the limit is over, never because the machine was slow before the far
side had its turn, and no test waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterator

import pytest
from tests.tls import Behaviour, Exchange

_STEPS = 10
_BETWEEN_SECONDS = 0.001


class LoopTime:
    """Of the running loop, until the test is over. It never goes back while the test runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._real = loop.time
        self._ahead = 0.0
        self._latest = math.inf
        monkeypatch.setattr(loop, "time", self)

    def __call__(self) -> float:
        return min(self._real() + self._ahead, self._latest)

    async def go_by(self, seconds: float) -> None:
        """In steps, so that whoever waits for a part of it has their turn."""
        for _ in range(_STEPS):
            self._ahead += seconds / _STEPS
            await asyncio.sleep(_BETWEEN_SECONDS)

    @contextlib.contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """It stands still after so much, so that nothing which waits for longer ever happens. What
        is done inside was done in time, however long the machine took for it."""
        end, before = self() + seconds, self._latest
        self._latest = end
        yield
        self._latest = before

    def overlong(self, behaviour: Behaviour, seconds: float) -> Behaviour:
        """The same, while so much time goes by from the moment that the request is there."""

        async def behave(exchange: Exchange) -> None:
            passing = asyncio.create_task(self.go_by(seconds))
            try:
                await behaviour(exchange)
            finally:
                passing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await passing

        return behave
