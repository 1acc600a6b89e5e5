"""Batches concurrent updates of one key.

For stores behind a network: a busy key has one round trip at a time, with all updates that arrived
meanwhile, instead of a connection for each of them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from masthead.base.ids import TenantId
from masthead.identity.limits.stores import Change, Result

MAX_BATCH = 256

Subjects = tuple[TenantId, tuple[str, ...]]


class _Request(msgspec.Struct, frozen=True):
    change: Change[Any]
    result: asyncio.Future[Any]


class BatchedStore(ABC):
    def __init__(self) -> None:
        self._waiting: dict[Subjects, list[_Request]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        key = (tenant_id, tuple(subjects))
        waiting = _Request(change, asyncio.get_running_loop().create_future())
        queue = self._waiting.get(key)
        if queue is not None:
            queue.append(waiting)
        else:
            self._waiting[key] = [waiting]
            # A separate task, so that the other updates continue when this caller is cancelled.
            task = asyncio.create_task(self._run(key))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            result: Result = await waiting.result
            return result
        finally:
            # Breaks the cycle of this frame and an exception's traceback.
            del waiting

    async def close(self) -> None:
        """Waits for all updates."""
        while self._running:
            await asyncio.wait(self._running)

    @abstractmethod
    async def _update_locked(
        self, tenant_id: TenantId, subjects: tuple[str, ...], change: Change[list[Any]]
    ) -> list[Any]: ...

    async def _run(self, key: Subjects) -> None:
        queue = self._waiting[key]
        while queue:
            batch, queue[:MAX_BATCH] = queue[:MAX_BATCH], []
            # Cancelled requests are not counted.
            await self._run_batch(key, [each for each in batch if not each.result.done()])
        del self._waiting[key]

    async def _run_batch(self, key: Subjects, batch: list[_Request]) -> None:
        def change(states: Sequence[bytes]) -> tuple[Sequence[bytes], list[Any]]:
            results = []
            for each in batch:
                states, result = each.change(states)
                results.append(result)
            return states, results

        try:
            results = await self._update_locked(*key, change)
        except Exception as error:
            _fail(batch, error)
            # Breaks the cycle of the batch and the exception's traceback.
            batch.clear()
            return
        for each, result in zip(batch, results, strict=True):
            if not each.result.done():
                each.result.set_result(result)


def _fail(batch: Sequence[_Request], error: Exception) -> None:
    for each in batch:
        if not each.result.done():
            each.result.set_exception(error)
