"""The loop's own clock, moved on by a far side that takes its time.

What has a limit then ends when the limit is over, never because the machine was slow before the far
side had its turn, and no test waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterator

from tests.tls import Behaviour, Exchange

_BETWEEN_SECONDS = 0.001


class LoopTime:
    """Takes the place of a loop's `time` for as long as the loop lives: what was put off until a
    moment of the moved clock would come far too late if it ever went back."""

    def __init__(self, real: Callable[[], float]) -> None:
        self._real = real
        self._ahead = 0.0
        self._latest = math.inf

    @classmethod
    def of_the_running_loop(cls) -> LoopTime:
        loop = asyncio.get_running_loop()
        if not isinstance(loop.time, cls):
            vars(loop)["time"] = cls(loop.time)
        found = loop.time
        assert isinstance(found, cls)
        return found

    def __call__(self) -> float:
        return min(self._real() + self._ahead, self._latest)

    async def go_by(self, seconds: float, steps: int = 10) -> None:
        """In steps, so that whoever waits for a part of it has their turn."""
        for _ in range(steps):
            self._ahead += seconds / steps
            await asyncio.sleep(_BETWEEN_SECONDS)

    def skip(self, seconds: float) -> None:
        """At once, as if the loop had stood still for so long."""
        self._ahead += seconds

    @contextlib.contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """It stands still after so much, so that nothing which waits for longer ever happens. What
        is done inside was done in time, however long the machine took for it."""
        self._latest = self() + seconds
        try:
            yield
        finally:
            self._ahead -= max(0.0, self._real() + self._ahead - self._latest)
            self._latest = math.inf

    def overlong(self, behaviour: Behaviour, seconds: float, steps: int = 10) -> Behaviour:
        """The same, while so much time goes by from the moment that the request is there."""

        async def behave(exchange: Exchange) -> None:
            passing = asyncio.create_task(self.go_by(seconds, steps))
            try:
                await behaviour(exchange)
            finally:
                passing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await passing

        return behave
