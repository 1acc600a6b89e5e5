"""The writing process has its next batch before it is through with the first."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.storage.notebook import ANN, BOB, Notebook, new_url, open_notebook
from tests.storage.test_sqlite_blind import (
    add,
    add_blindly,
    another_process,
    blindly,
    outcomes_of,
    settle,
    writer_of,
)
from tests.storage.test_sqlite_scribe import pid_of

from masthead.errors import Unavailable
from masthead.storage.database import Overtaken, Scope, Transaction
from masthead.storage.sqlite_writer import AHEAD, ENOUGH


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await open_notebook(new_url("sqlite", tmp_path))
    await settle(opened)
    await add(opened, "first of Bob's", BOB)
    await writer_of(opened).scribes.hire()
    yield opened
    await opened.db.close()


@contextmanager
def held_up(notebook: Notebook) -> Iterator[sqlite3.Connection]:
    """The process waits for another one's lock meanwhile."""
    with closing(another_process(notebook)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")


async def begun(work: Coroutine[Any, Any, int]) -> asyncio.Task[int]:
    """It has joined a batch; each has one of its own, if there is room for that."""
    task = asyncio.create_task(work)
    for _ in range(4):
        await asyncio.sleep(0)
    return task


async def enough(notebook: Notebook, name: str, scope: Scope = ANN) -> list[asyncio.Task[int]]:
    """As many as are not kept waiting for others."""
    names = [f"{name}{number}" for number in range(ENOUGH)]
    tasks = [asyncio.create_task(add_blindly(notebook, each, scope)) for each in names]
    await begun(asyncio.sleep(0, 0))
    return tasks


async def test_another_batch_is_with_it_and_the_others_gather(notebook: Notebook) -> None:
    number = await notebook.number_of(ANN)
    with held_up(notebook):
        adding = [await begun(add_blindly(notebook, "a"))]
        assert writer_of(notebook)._with_scribe == 1
        adding += await enough(notebook, "b")
        adding += await enough(notebook, "c")
        assert writer_of(notebook)._with_scribe == AHEAD == 2
        assert len(writer_of(notebook)._blind.members) == ENOUGH
    numbers = await asyncio.gather(*adding)
    assert numbers == list(range(number + 1, number + 2 + 2 * ENOUGH))
    assert {"a", "b0", f"c{ENOUGH - 1}"} <= set(await notebook.ids_of(ANN))
    assert writer_of(notebook)._with_scribe == 0


async def test_a_few_wait_for_others(notebook: Notebook) -> None:
    with held_up(notebook):
        first = await begun(add_blindly(notebook, "a"))
        second = await begun(add_blindly(notebook, "b"))
        assert writer_of(notebook)._with_scribe == 1
        assert len(writer_of(notebook)._blind.members) == 1
    assert await second == await first + 1


async def test_many_of_one_turn_are_several_batches(notebook: Notebook) -> None:
    with held_up(notebook):
        adding = [*await enough(notebook, "a"), *await enough(notebook, "b")]
        assert writer_of(notebook)._with_scribe == 2
        assert not writer_of(notebook)._blind.members
    await asyncio.gather(*adding)


async def test_whoever_wants_to_read_waits_for_both(notebook: Notebook) -> None:
    with held_up(notebook):
        first = await begun(add_blindly(notebook, "a"))
        others = await enough(notebook, "b")
        reading = await begun(add(notebook, "c"))
        assert notebook.db.blind_transaction(ANN) is None
    assert await first < await others[0] < await others[-1] < await reading


async def test_what_was_built_on_one_that_fails_fails_as_well(notebook: Notebook) -> None:
    number = await notebook.number_of(ANN)
    with held_up(notebook):
        failing = await begun(add_blindly(notebook, "settled0-0"))
        others = await enough(notebook, "b")
        third = await begun(add_blindly(notebook, "c"))
    outcomes = await outcomes_of(failing, *others, third)
    assert {type(each) for each in outcomes} == {Overtaken}
    assert await notebook.number_of(ANN) == number
    assert await add(notebook, "b") == number + 1


async def test_what_was_not_goes_through(notebook: Notebook) -> None:
    """Another tenant's numbers hold all the same."""
    with held_up(notebook):
        failing = await begun(add_blindly(notebook, "settled0-0"))
        bobs = await enough(notebook, "b", BOB)
    outcomes = await outcomes_of(failing, *bobs)
    assert isinstance(outcomes[0], Overtaken)
    assert outcomes[-1] == await notebook.number_of(BOB) == 1 + ENOUGH
    assert "b0" in await notebook.ids_of(BOB)


async def test_both_are_told_of_its_end(notebook: Notebook) -> None:
    number = await notebook.number_of(ANN)
    with held_up(notebook):
        first = await begun(add_blindly(notebook, "a"))
        others = await enough(notebook, "b")
        os.kill(pid_of(notebook), signal.SIGKILL)
        outcomes = await outcomes_of(first, *others)
    assert {type(each) for each in outcomes} == {Unavailable}
    assert await add(notebook, "c") == number + 1


async def test_what_can_not_be_sent_waits_until_it_is_through(notebook: Notebook) -> None:
    class Name(str):
        __slots__ = ()

    async def work(tx: Transaction) -> int:
        number: int = (await tx.count_up(notebook.count_up, ANN))[0]
        await tx.execute(notebook.add, (ANN, Name("odd"), Name("odd")))
        return number

    with held_up(notebook):
        first = await begun(add_blindly(notebook, "a"))
        odd = await begun(blindly(notebook, work))
        others = await enough(notebook, "b")
        assert writer_of(notebook)._with_scribe == 1
    assert await first < await odd < await others[-1]
    assert {"a", "odd", "b0"} <= set(await notebook.ids_of(ANN))
