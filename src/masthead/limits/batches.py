"""Updates of one key that come while its store is busy travel together.

For stores behind a network: a key that is hammered has one round trip under way at a time, with all
the calls that have gathered meanwhile, instead of a connection for each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from masthead.ids import TenantId

MAX_BATCH = 256

Result = TypeVar("Result")
Change = Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]]
Subjects = tuple[TenantId, tuple[str, ...]]
Exclusively = Callable[[TenantId, tuple[str, ...], Change[list[Any]]], Awaitable[list[Any]]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    change: Change[Any]
    result: asyncio.Future[Any]


class Batches:
    def __init__(self, exclusively: Exclusively) -> None:
        self._exclusively = exclusively
        self._waiting: dict[Subjects, list[_Waiting]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        key = (tenant_id, tuple(subjects))
        waiting = _Waiting(change, asyncio.get_running_loop().create_future())
        queue = self._waiting.get(key)
        if queue is not None:
            queue.append(waiting)
        else:
            self._waiting[key] = [waiting]
            # A task of its own: the others' calls go on when this caller is cancelled.
            task = asyncio.create_task(self._run(key))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            result: Result = await waiting.result
            return result
        finally:
            # Else this frame, which is in an exception's traceback, would keep the exception.
            del waiting

    async def finish(self) -> None:
        """Returns when nothing is under way."""
        while self._running:
            await asyncio.wait(self._running)

    async def _run(self, key: Subjects) -> None:
        queue = self._waiting[key]
        while queue:
            batch, queue[:MAX_BATCH] = queue[:MAX_BATCH], []
            # Whoever was cancelled before the start is not counted.
            await self._run_batch(key, [each for each in batch if not each.result.done()])
        del self._waiting[key]

    async def _run_batch(self, key: Subjects, batch: list[_Waiting]) -> None:
        def change(states: Sequence[bytes]) -> tuple[Sequence[bytes], list[Any]]:
            results = []
            for each in batch:
                states, result = each.change(states)
                results.append(result)
            return states, results

        try:
            results = await self._exclusively(*key, change)
        except Exception as error:
            _fail(batch, error)
            # The traceback has the frames that know the batch, which would keep the exception.
            batch.clear()
            return
        for each, result in zip(batch, results, strict=True):
            if not each.result.done():
                each.result.set_result(result)


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for each in batch:
        if not each.result.done():
            each.result.set_exception(error)
