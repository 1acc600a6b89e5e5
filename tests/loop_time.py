"""A movable clock for the event loop, so that tests of timeouts neither wait nor depend on the
machine's speed."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterator

from tests.tls import Behaviour, Exchange

_BETWEEN_SECONDS = 0.001


class LoopTime:
    """Replaces a loop's `time` for the loop's whole life: if the clock went back, timers that were
    set on the moved clock would fire far too late."""

    def __init__(self, real: Callable[[], float]) -> None:
        self._real = real
        self._ahead = 0.0
        self._latest = math.inf

    @classmethod
    def for_running_loop(cls) -> LoopTime:
        loop = asyncio.get_running_loop()
        if not isinstance(loop.time, cls):
            vars(loop)["time"] = cls(loop.time)
        found = loop.time
        assert isinstance(found, cls)
        return found

    def __call__(self) -> float:
        return min(self._real() + self._ahead, self._latest)

    async def advance(self, seconds: float, steps: int = 10) -> None:
        """In steps, so that shorter timers fire in between."""
        for _ in range(steps):
            self._ahead += seconds / steps
            await asyncio.sleep(_BETWEEN_SECONDS)

    def skip(self, seconds: float) -> None:
        """In one step, as if the loop had been blocked for so long."""
        self._ahead += seconds

    @contextlib.contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Stops the clock after so many seconds, so that no longer timer fires. What completes
        within the block completed in time, however slow the machine is."""
        self._latest = self() + seconds
        try:
            yield
        finally:
            self._ahead -= max(0.0, self._real() + self._ahead - self._latest)
            self._latest = math.inf

    def overlong(self, behaviour: Behaviour, seconds: float, steps: int = 10) -> Behaviour:
        """The same behaviour, while the clock advances by so much from the request on."""

        async def behave(exchange: Exchange) -> None:
            passing = asyncio.create_task(self.advance(seconds, steps))
            try:
                await behaviour(exchange)
            finally:
                passing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await passing

        return behave
