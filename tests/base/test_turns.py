"""Turns of sites for work that takes long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from masthead.base.errors import RateLimited
from masthead.base.turns import Turns, working_for


class Work:
    """Pieces of work, which end when the test says so."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def start(self, site: str, name: str) -> asyncio.Task[None]:
        return asyncio.create_task(self._do(site, name))

    async def _do(self, site: str, name: str) -> None:
        working_for.set(site)
        self.ends[name] = asyncio.Event()
        async with self.turns.turn():
            self.begun.append(name)
            await self.ends[name].wait()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@asynccontextmanager
async def working(turns: Turns) -> AsyncIterator[Work]:
    work = Work(turns)
    yield work
    for _ in range(len(work.ends)):
        for each in work.ends.values():
            each.set()
        await work.settle()


async def test_one_site_takes_one_slot_and_another_does_not_wait() -> None:
    async with working(Turns(2)) as work:
        for n in range(4):
            work.start("a", f"a{n}")
        await work.settle()
        work.start("b", "b0")
        await work.settle()
        assert work.begun == ["a0", "b0"]


async def test_those_that_wait_are_taken_site_by_site() -> None:
    async with working(Turns(1)) as work:
        for name in ("a0", "a1", "a2", "b0", "b1", "c0"):
            work.start(name[0], name)
            await work.settle()
        for name in ("a0", "a1", "b0", "c0", "a2"):
            await work.end(name)
    assert work.begun == ["a0", "a1", "b0", "c0", "a2", "b1"]


async def test_few_may_wait() -> None:
    async with working(Turns(1, waiting_of_site=2, waiting=3)) as work:
        first = [work.start("a", f"a{n}") for n in range(4)]
        await work.settle()
        assert isinstance(first[3].exception(), RateLimited)
        work.start("b", "b0")
        last = work.start("c", "c0")
        await work.settle()
        assert isinstance(last.exception(), RateLimited)


@pytest.mark.parametrize("has_turn", [False, True])
async def test_a_cancelled_one_leaves_its_place_to_the_next(has_turn: bool) -> None:
    async with working(Turns(1)) as work:
        work.start("a", "a0")
        cancelled = work.start("b", "b0")
        work.start("c", "c0")
        await work.settle()
        if has_turn:
            work.ends["a0"].set()
            # The turn is given, and its task has not run.
            while work.turns._working != {"b"}:
                await asyncio.sleep(0)
        cancelled.cancel()
        await work.end("a0")
        assert work.begun == ["a0", "c0"]


async def test_work_that_fails_ends_its_turn() -> None:
    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with turns.turn():
                raise ZeroDivisionError
