"""Stores what becomes of each recipient, for all connections of a worker in one transaction.

Before an email is handed over, its recipient is marked in a commit that is on the disk; its result
goes into the next one. So a worker that dies leaves at most one recipient per connection uncertain.
A commit waits until half of the connections want something: while one half waits for the disk, the
other sends, and the disk is there for everyone else in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from masthead.base.errors import Unavailable
from masthead.base.logs import log
from masthead.features.mailings.queue import (
    AttemptResult,
    Claimed,
    MailingKey,
    Progress,
    RecipientQueue,
)

RETRY_SECONDS: Final = 0.5
MAX_FAILURES: Final = 3
"""To store one recipient, other than by an unreachable database."""
GATHER_SECONDS: Final = 0.01
"""The most that a commit waits for further connections."""

OnProgress = Callable[[MailingKey, Progress], Awaitable[None]]


class Ledger:
    def __init__(self, queue: RecipientQueue, on_progress: OnProgress, *, connections: int) -> None:
        self._queue = queue
        self._on_progress = on_progress
        self.expect(connections)
        self._ended: list[AttemptResult] = []
        self._asked: list[tuple[Claimed, asyncio.Future[bool]]] = []
        self._wake = asyncio.Event()
        self._has_enough = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def expect(self, connections: int) -> None:
        """So many are open now."""
        self._enough = (connections + 1) // 2

    async def may_hand_over(self, claimed: Claimed) -> bool:
        """Marks the recipient. False: the email must not leave, and the recipient is no longer this
        worker's."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asked.append((claimed, answer))
        if len(self._asked) >= self._enough:
            self._has_enough.set()
        self._call()
        return await answer

    def record(self, ended: AttemptResult) -> None:
        self._ended.append(ended)
        self._call()

    def _call(self) -> None:
        self._idle.clear()
        self._wake.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end everything is stored."""
        task = asyncio.create_task(self._run_forever())
        try:
            yield
            await self._idle.wait()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run_forever(self) -> None:
        while True:
            await self._wake.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._has_enough.wait()
            self._wake.clear()
            self._has_enough.clear()
            ended, self._ended = self._ended, []
            asked, self._asked = self._asked, []
            marked, progress = await self._store(ended, [each for each, _ in asked])
            for claimed, answer in asked:
                if not answer.done():
                    answer.set_result((claimed.key, claimed.member_id) in marked)
            for key, each in progress.items():
                await self._tell(key, each)
            if not self._wake.is_set():
                self._idle.set()

    async def _tell(self, key: MailingKey, progress: Progress) -> None:
        try:
            await self._on_progress(key, progress)
        # Part of the job's edge, too: the connections would wait for ever. The next results of the
        # mailing tell the same.
        except Exception:
            log.exception("mailings.not_noticed")

    async def _store(
        self, ended: list[AttemptResult], asked: list[Claimed]
    ) -> tuple[set[tuple[MailingKey, str]], dict[MailingKey, Progress]]:
        """Until the database takes it: what has left must not be forgotten. A repetition after an
        unknown commit finds its rows changed, marks nothing and counts nothing."""
        failures = 0
        while failures < MAX_FAILURES:
            try:
                return await self._queue.turn(ended, asked)
            except Unavailable:
                log.warning("mailings.database_unavailable")
            # Part of the job's edge: the worker must not die with results in its memory.
            except Exception:
                log.exception("mailings.not_recorded")
                if len(ended) + len(asked) > 1:
                    return await self._store_each(ended, asked)
                failures += 1
            await asyncio.sleep(RETRY_SECONDS)
        # When its lease has ended, the recipient is uncertain, or is claimed again.
        return set(), {}

    async def _store_each(
        self, ended: list[AttemptResult], asked: list[Claimed]
    ) -> tuple[set[tuple[MailingKey, str]], dict[MailingKey, Progress]]:
        """One that the database refuses holds up no other."""
        marked: set[tuple[MailingKey, str]] = set()
        progress: dict[MailingKey, Progress] = {}
        for batch in (*(([each], []) for each in ended), *(([], [each]) for each in asked)):
            one, noticed = await self._store(*batch)
            marked |= one
            progress |= noticed
        return marked, progress
