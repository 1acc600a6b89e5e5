"""Transactions that read nothing: they know their number beforehand, or do not happen."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.storage.notebook import ANN, BOB, Notebook, new_url, open_notebook

from masthead.errors import Unavailable
from masthead.storage.database import Overtaken, Scope, Transaction
from masthead.storage.sqlite import SqliteDatabase
from masthead.storage.sqlite_blind import MAX_LETTERS, MAX_LETTERS_OF_ONE, MAX_MEMBERS, Trust
from masthead.storage.sqlite_writer import AHEAD, ENOUGH, Writer
from masthead.storage.urls import sqlite_path

Result = TypeVar("Result")


@pytest.fixture
async def in_thread(tmp_path: Path) -> AsyncIterator[Notebook]:
    """Where the service's own thread writes the batches."""
    opened = await open_notebook(new_url("sqlite", tmp_path))
    yield opened
    await opened.db.close()


@pytest.fixture(params=["thread", "process"])
async def notebook(in_thread: Notebook, request: pytest.FixtureRequest) -> Notebook:
    if request.param == "process":
        await writer_of(in_thread).scribes.hire()
    return in_thread


def writer_of(notebook: Notebook) -> Writer:
    assert isinstance(notebook.db, SqliteDatabase)
    return notebook.db._writer


async def add(notebook: Notebook, name: str, scope: Scope = ANN) -> int:
    """With a look at the database."""
    async with notebook.db.transaction(scope) as tx:
        number: int = (await tx.count_up(notebook.count_up, scope))[0]
        await tx.execute(notebook.add, (scope, name, name))
    return number


async def add_blindly(notebook: Notebook, name: str, scope: Scope = ANN) -> int:
    async def work(tx: Transaction) -> int:
        number: int = (await tx.count_up(notebook.count_up, scope))[0]
        await tx.execute(notebook.add, (scope, name, name))
        await tx.defer(notebook.count, [(scope, "notes", 1)], adding=True)
        return number

    return await blindly(notebook, work, scope)


async def blindly(
    notebook: Notebook,
    work: Callable[[Transaction], Coroutine[Any, Any, Result]],
    scope: Scope = ANN,
) -> Result:
    blind = notebook.db.blind_transaction(scope)
    assert blind is not None
    async with blind as tx:
        return await work(tx)


async def count_and_raise(notebook: Notebook, tx: Transaction) -> None:
    await tx.count_up(notebook.count_up, ANN)
    raise ZeroDivisionError


async def settle(notebook: Notebook) -> int:
    """Until what is known may be relied upon; returns Ann's number."""
    for number in range(Trust.FIRST):
        assert notebook.db.blind_transaction(ANN) is None
        await add(notebook, f"settled{await notebook.number_of(ANN)}-{number}")
    return await notebook.number_of(ANN)


def another_process(notebook: Notebook) -> sqlite3.Connection:
    path = sqlite_path(notebook.url)
    assert path is not None
    return sqlite3.connect(path, isolation_level=None)


def traced(notebook: Notebook) -> list[str]:
    """Every statement that the service's own connection runs from now on."""
    statements: list[str] = []
    writer_of(notebook).connection.set_trace_callback(statements.append)
    return statements


async def in_the_thread() -> None:
    """Two turns: those who have just begun are being committed then."""
    for _ in range(2):
        await asyncio.sleep(0)


async def outcomes_of(*work: Any) -> list[Any]:
    return await asyncio.gather(*work, return_exceptions=True)


async def test_those_that_come_together_have_a_number_each(notebook: Notebook) -> None:
    settled = await settle(notebook)
    numbers = await outcomes_of(*(add_blindly(notebook, f"n{each}") for each in range(20)))
    assert numbers == [settled + each for each in range(1, 21)]
    assert await notebook.number_of(ANN) == settled + 20
    assert len(await notebook.ids_of(ANN)) == settled + 20
    totals = await notebook.db.fetch(ANN, notebook.totals)
    assert [tuple(row) for row in totals] == [("notes", 20)]


async def test_they_share_a_commit_and_ask_nothing(in_thread: Notebook) -> None:
    await settle(in_thread)
    statements = traced(in_thread)
    await outcomes_of(*(add_blindly(in_thread, f"n{each}") for each in range(20)))
    assert statements.count("COMMIT") == 1
    assert not any(text.startswith(("SAVEPOINT", "SELECT")) for text in statements)


async def test_they_are_prepared_during_the_commit_of_others(notebook: Notebook) -> None:
    settled = await settle(notebook)
    first = asyncio.create_task(add_blindly(notebook, "first"))
    second = asyncio.create_task(add_blindly(notebook, "second"))
    await in_the_thread()
    numbers = await outcomes_of(first, second, add_blindly(notebook, "third"))
    assert numbers == [settled + 1, settled + 2, settled + 3]
    assert await add(notebook, "fourth") == settled + 4


async def test_whoever_wants_to_read_waits_behind_them_and_sees_them(notebook: Notebook) -> None:
    settled = await settle(notebook)
    numbers = await outcomes_of(
        add_blindly(notebook, "a"), add(notebook, "b"), add_blindly(notebook, "c", BOB)
    )
    # The last one: Bob's number is not known.
    assert numbers[:2] == [settled + 1, settled + 2]
    assert isinstance(numbers[2], AssertionError)
    assert await notebook.number_of(ANN) == settled + 2


async def test_nobody_goes_blindly_past_those_who_wait(notebook: Notebook) -> None:
    await settle(notebook)
    async with notebook.db.transaction(ANN):
        assert notebook.db.blind_transaction(ANN) is None
    committing = asyncio.create_task(add_blindly(notebook, "committing"))
    await in_the_thread()
    assert notebook.db.blind_transaction(ANN) is not None
    waiting = asyncio.create_task(add(notebook, "waiting"))
    await asyncio.sleep(0)
    assert notebook.db.blind_transaction(ANN) is None
    await outcomes_of(committing, waiting)
    assert notebook.db.blind_transaction(ANN) is not None


async def test_there_is_an_end_to_a_batch(notebook: Notebook) -> None:
    await settle(notebook)
    has_process = writer_of(notebook).scribes.at_work is not None
    room = MAX_MEMBERS + (AHEAD * ENOUGH if has_process else 0)
    adding = [asyncio.create_task(add_blindly(notebook, f"n{each}")) for each in range(room + 1)]
    outcomes = await outcomes_of(*adding)
    assert [type(each) for each in outcomes] == [int] * room + [AssertionError]


async def test_a_violation_is_nobodys_row(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await add(notebook, "taken")
    names = ["a", "taken", "b"]
    outcomes = await outcomes_of(*(add_blindly(notebook, name) for name in names))
    assert [type(each) for each in outcomes] == [Overtaken] * 3
    assert not {"a", "b"} & set(await notebook.ids_of(ANN))
    assert await notebook.number_of(ANN) == settled + 1
    # An ordinary one goes on with the right number, and it is a while until they trust again.
    assert await add(notebook, "a") == settled + 2
    assert notebook.db.blind_transaction(ANN) is None


async def test_what_another_process_wrote_meanwhile_is_noticed(notebook: Notebook) -> None:
    settled = await settle(notebook)
    with closing(another_process(notebook)) as other:
        other.execute("UPDATE numbers SET number = number + 10")
    with pytest.raises(Overtaken):
        await add_blindly(notebook, "a")
    assert "a" not in await notebook.ids_of(ANN)
    assert await add(notebook, "a") == settled + 11


async def test_another_process_that_holds_the_lock_is_waited_for(in_thread: Notebook) -> None:
    settled = await settle(in_thread)
    statements = traced(in_thread)
    with closing(another_process(in_thread)) as other:
        other.execute("BEGIN IMMEDIATE")
        adding = asyncio.create_task(add_blindly(in_thread, "a"))
        async with asyncio.timeout(60):
            while statements.count("BEGIN IMMEDIATE") < 2:
                await asyncio.sleep(0)
        assert not adding.done()
        other.execute("ROLLBACK")
    assert await adding == settled + 1


async def test_a_lock_that_is_never_given_back_is_told(tmp_path: Path) -> None:
    notebook = await open_notebook(new_url("sqlite", tmp_path), statement_seconds=0.05)
    await settle(notebook)
    with closing(another_process(notebook)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            await add_blindly(notebook, "a")
    await add(notebook, "a")
    await notebook.db.close()


async def test_who_would_have_to_read_can_not(notebook: Notebook) -> None:
    await settle(notebook)

    async def add_and_read(tx: Transaction) -> None:
        await tx.execute(notebook.add, (ANN, "a", "a"))
        await tx.fetch(notebook.ids, (ANN,))

    with pytest.raises(Overtaken):
        await blindly(notebook, add_and_read)
    # Bob's number is not known.
    assert notebook.db.blind_transaction(BOB) is None
    assert "a" not in await notebook.ids_of(ANN)


async def test_a_raising_block_takes_no_number(notebook: Notebook) -> None:
    """And says nothing: what it raised for was not checked."""
    settled = await settle(notebook)
    with pytest.raises(Overtaken):
        await blindly(notebook, partial(count_and_raise, notebook))
    assert await add_blindly(notebook, "a") == settled + 1
    assert await notebook.number_of(ANN) == settled + 1


async def test_a_number_is_taken_once_whoever_is_slow(notebook: Notebook) -> None:
    settled = await settle(notebook)

    async def be_slow(tx: Transaction) -> None:
        await tx.count_up(notebook.count_up, ANN)
        await tx.execute(notebook.add, (ANN, "slow", "slow"))
        assert await add_blindly(notebook, "quick") == settled + 1

    with pytest.raises(Overtaken):
        await blindly(notebook, be_slow)
    assert "slow" not in await notebook.ids_of(ANN)
    assert await add_blindly(notebook, "next") == settled + 2


async def test_a_change_of_the_table_itself_is_heeded(notebook: Notebook) -> None:
    await settle(notebook)
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.mark, ())
    assert notebook.db.blind_transaction(ANN) is None
    await add(notebook, "a")
    await add_blindly(notebook, "b")


async def test_a_change_of_one_number_leaves_the_others_known(notebook: Notebook) -> None:
    await settle(notebook)
    await add(notebook, "a", BOB)
    async with notebook.db.transaction(BOB) as tx:
        await tx.execute(notebook.mark_one, (BOB,))
    assert notebook.db.blind_transaction(BOB) is None
    await add_blindly(notebook, "a")


async def test_what_can_not_be_ordered_holds_nobody_up(notebook: Notebook) -> None:
    """Whatever goes wrong with a batch, those who wait are answered."""
    settled = await settle(notebook)
    async with notebook.db.transaction(BOB) as tx:
        await tx.execute(notebook.number_without_mark, (BOB, settled))
    await add(notebook, "first", BOB)
    await add(notebook, "first")
    outcomes = await outcomes_of(
        add_blindly(notebook, "a"), add_blindly(notebook, "b", BOB), add(notebook, "c")
    )
    assert [type(each) for each in outcomes] == [Unavailable, Unavailable, int]
    assert await notebook.number_of(ANN) == settled + 2


async def test_large_texts_take_turns(notebook: Notebook) -> None:
    await settle(notebook)
    with pytest.raises(Overtaken):
        await add_blindly(notebook, "x" * MAX_LETTERS_OF_ONE)
    text = "x" * (MAX_LETTERS_OF_ONE // 2 - 10)
    adding = [asyncio.create_task(add_blindly(notebook, f"{text}{number}")) for number in range(12)]
    outcomes = await outcomes_of(*adding)
    assert {type(each) for each in outcomes} == {int, AssertionError}
    assert sum(isinstance(each, int) for each in outcomes) == MAX_LETTERS // (2 * len(text)) + 1


async def test_an_undone_transaction_leaves_no_number_behind(notebook: Notebook) -> None:
    settled = await settle(notebook)

    async def fail() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await count_and_raise(notebook, tx)

    with pytest.raises(ZeroDivisionError):
        await fail()
    # The batch that it would have been in is closed.
    await asyncio.sleep(0)
    assert notebook.db.blind_transaction(ANN) is None
    assert await add(notebook, "a") == settled + 1


async def test_who_built_on_a_commit_that_fails_is_told(in_thread: Notebook) -> None:
    settled = await settle(in_thread)
    connection = writer_of(in_thread).connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")

    async def add_too_much(tx: Transaction) -> None:
        await tx.count_up(in_thread.count_up, ANN)
        await tx.execute(in_thread.add, (ANN, "huge", "x" * 200_000))

    failing = asyncio.create_task(blindly(in_thread, add_too_much))
    await in_the_thread()
    outcomes = await outcomes_of(failing, add_blindly(in_thread, "built on it"))
    assert [type(each) for each in outcomes] == [Unavailable, Overtaken]
    assert await in_thread.number_of(ANN) == settled
    connection.execute("PRAGMA max_page_count = 1073741823")
    assert await add(in_thread, "a") == settled + 1


async def test_a_cancelled_one_hinders_nobody(notebook: Notebook) -> None:
    settled = await settle(notebook)
    cancelled = asyncio.create_task(add_blindly(notebook, "cancelled"))
    await asyncio.sleep(0)
    cancelled.cancel()
    number = await add_blindly(notebook, "kept")
    outcome = await outcomes_of(cancelled)
    assert isinstance(outcome[0], asyncio.CancelledError)
    # It was on its way already.
    assert {"cancelled", "kept"} <= set(await notebook.ids_of(ANN))
    assert number == await notebook.number_of(ANN) == settled + 2


async def test_closing_waits_for_them(tmp_path: Path) -> None:
    url = new_url("sqlite", tmp_path)
    notebook = await open_notebook(url)
    settled = await settle(notebook)
    adding = asyncio.create_task(add_blindly(notebook, "last"))
    await asyncio.sleep(0)
    await notebook.db.close()
    assert await adding == settled + 1
    again = await open_notebook(url)
    assert "last" in await again.ids_of(ANN)
    await again.db.close()


class TestTrust:
    def test_it_takes_some_commits(self) -> None:
        trust = Trust()
        for _ in range(Trust.FIRST):
            assert not trust
            trust.commit_went_well()
        assert trust

    def test_it_takes_longer_after_each_disappointment_but_not_for_ever(self) -> None:
        trust, waits = Trust(), []
        for _ in range(12):
            trust.was_disappointed()
            waits.append(0)
            while not trust:
                trust.commit_went_well()
                waits[-1] += 1
        assert waits[:3] == [Trust.FIRST, 2 * Trust.FIRST, 4 * Trust.FIRST]
        assert waits[-1] == waits[-2] == Trust.LONGEST

    def test_what_has_held_for_long_is_trusted_soon_again(self) -> None:
        trust = Trust()
        for _ in range(5):
            trust.was_disappointed()
        for _ in range(Trust.LONGEST + Trust.PROVEN):
            trust.commit_went_well()
        trust.was_disappointed()
        for _ in range(Trust.FIRST):
            trust.commit_went_well()
        assert trust
