"""All paths at once, and a ledger of what the service has acknowledged."""

from __future__ import annotations

import asyncio
import random
import time
from contextvars import ContextVar
from typing import Any

import httpx
from tests.faults.installation import Installation
from tests.faults.ledger import Ledger, Unacknowledged
from tests.faults.paths import PATHS, RESTING_SECONDS, Path

UNAVAILABLE = frozenset({429, 503, 507})
"""Answers that may come instead of doing it: it is busy, a part is down, the disk is full."""

_way: ContextVar[str] = ContextVar("way", default="")
"""The name of the path that a request is on."""


class Load:
    def __init__(self, site: Installation, seed: int) -> None:
        self.site = site
        self.ledger = Ledger()
        self.began = site.clock()
        self.rng = random.Random(seed)
        self.grown = asyncio.Event()
        self.clock_jumps = False
        """Signatures and proofs may be too old, or from the future, when they come."""
        self.paths = PATHS
        self.uploads: dict[str, list[str]] = {}
        """The pages of exports that are not run yet, with the titles in them."""
        self._names = 0
        self._clients: list[httpx.AsyncClient] = []
        self._browser: httpx.AsyncClient | None = None
        self._seed = seed

    async def until(
        self, acknowledged: int, paths: tuple[Path, ...] = ()
    ) -> list[asyncio.Task[None]]:
        """Starts all paths; returns at the acknowledgement of so many calls, with the others' under
        way: the caller ends them with `finish`."""
        client = self.site.client()
        self._clients.append(client)
        tasks = [asyncio.create_task(self._repeat(path, client)) for path in paths or self.paths]
        goal = self.ledger.acknowledged + acknowledged
        while self.ledger.acknowledged < goal and not any(task.done() for task in tasks):
            self.grown.clear()
            await self.grown.wait()
        return tasks

    async def finish(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        self._browser = None
        while self._clients:
            await self._clients.pop().aclose()
        for ended in ends:
            if not isinstance(ended, asyncio.CancelledError):
                raise AssertionError("a path ended by itself") from ended

    async def _repeat(self, path: Path, client: httpx.AsyncClient) -> None:
        _way.set(path.__name__)
        try:
            while True:
                try:
                    await path(client, self)
                except Unacknowledged:
                    await asyncio.sleep(RESTING_SECONDS)
        finally:
            self.grown.set()

    async def signed_in(self) -> httpx.AsyncClient:
        """The browser of an owner."""
        if self._browser is None:
            self._browser = self.site.browser(self.site.owner)
            self._clients.append(self._browser)
        return self._browser

    def word(self) -> str:
        self._names += 1
        return f"w{self._seed % 10_000}n{self._names}"

    async def call(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        expected: tuple[int, ...],
        **request: Any,
    ) -> httpx.Response:
        self.ledger.asked += 1
        began = time.perf_counter()
        try:
            answer = await client.request(method, path, **request)
        except httpx.TransportError as error:
            self.ledger.unanswered += 1
            raise Unacknowledged from error
        self.ledger.latencies.append((began, time.perf_counter() - began))
        self.ledger.answers[f"{path.split('/')[1]} {answer.status_code}"] += 1
        if answer.status_code in UNAVAILABLE:
            raise Unacknowledged
        if answer.status_code not in expected:
            self.ledger.undocumented.append(
                f"{method} {path} {answer.status_code} {answer.text[:300]}"
            )
            raise Unacknowledged
        self.ledger.acknowledged += 1
        self.ledger.ways[_way.get()] += 1
        self.grown.set()
        return answer
