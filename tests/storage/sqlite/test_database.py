"""Only for SQLite: reads on the event loop, group commit, several processes on one file."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.storage.notebook import ANN, BOB, Notebook, new_url, open_notebook
from tests.waiting import until

from masthead.base.errors import StatementTimeout, Unavailable
from masthead.storage.database import Deferral, Statement, UniqueViolation
from masthead.storage.open import open_database
from masthead.storage.sqlite.connection import MAX_INLINE_BYTES, connect
from masthead.storage.sqlite.database import SqliteDatabase
from masthead.storage.sqlite.readers import Readers
from masthead.storage.sqlite.writer import MAX_BATCH, MIN_BATCH, Writer, WriterState
from masthead.storage.urls import sqlite_path

COUNT = """
SELECT count(*) FROM (
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n
)"""
LONG = Statement(COUNT.format(500_000).strip(), (), {})
IN_A_THREAD = Statement(COUNT.format(50_000).strip(), (), {})
"""Just too long for the event loop."""
ENDLESS = Statement(COUNT.format(10**12).strip(), (), {})


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await open_notebook(new_url("sqlite", tmp_path))
    yield opened
    await opened.db.close()


def traced(notebook: Notebook) -> list[str]:
    """Every statement that the writer runs from now on."""
    assert isinstance(notebook.db, SqliteDatabase)
    statements: list[str] = []
    notebook.db._writer.connection.set_trace_callback(statements.append)
    return statements


async def add(notebook: Notebook, name: str) -> None:
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, name, name))


async def add_many(notebook: Notebook, prefix: str, count: int) -> list[BaseException | None]:
    adding = (add(notebook, f"{prefix}{number}") for number in range(count))
    return await asyncio.gather(*adding, return_exceptions=True)


# Few steps, each of them long: texts of 40 MB, made and lengthened.
FEW_STEPS = Statement("SELECT length(replace(hex(zeroblob(20000000)), '0', '00'))", (), {})


class TestReads:
    async def test_the_timeout_applies_to_a_read_of_few_long_steps(self, tmp_path: Path) -> None:
        db = await open_database(new_url("sqlite", tmp_path), statement_seconds=0.02)
        with pytest.raises(StatementTimeout):
            await db.fetch(ANN, FEW_STEPS, slow=True)
        await db.close()

    async def test_one_tenant_leaves_threads_to_the_others(self, sqlite: Notebook) -> None:
        hostile = [asyncio.create_task(sqlite.db.fetch(ANN, ENDLESS, slow=True)) for _ in range(20)]
        await asyncio.sleep(0)
        assert await sqlite.db.fetch(BOB, LONG, slow=True) == [(500_000,)]
        assert not any(each.done() for each in hostile)
        for each in hostile:
            each.cancel()
        await asyncio.gather(*hostile, return_exceptions=True)
        # Cancelled reads hold no slot.
        assert await sqlite.db.fetch(ANN, LONG, slow=True) == [(500_000,)]

    async def test_a_long_read_does_not_block_the_event_loop(self, sqlite: Notebook) -> None:
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                # Not 0: a loop that never waits may keep the interpreter's lock from the thread.
                await asyncio.sleep(0.001)

        counting = asyncio.create_task(count_turns())
        rows = await sqlite.db.fetch(ANN, LONG)
        counting.cancel()

        assert rows == [(500_000,)]
        assert turns > 10

    async def test_a_repeated_short_read_is_never_interrupted(self, sqlite: Notebook) -> None:
        """SQLite counts the steps of a prepared statement across its runs."""
        path = sqlite_path(sqlite.url)
        assert path is not None
        # The clock stands still: a busy machine may pause the process in the middle of a read.
        readers = Readers(path, timeout_seconds=5, monotonic=lambda: 0.0)
        for _ in range(5_000):
            assert await readers.fetch(ANN, sqlite.ids, (ANN,), False, max_bytes=None) == []
        assert readers._idle == []  # no reader thread was needed
        await readers.close()

    async def test_rows_that_take_long_are_read_in_a_thread(self, sqlite: Notebook) -> None:
        """Without a step limit: the steps of one row may read megabytes."""
        path = sqlite_path(sqlite.url)
        assert path is not None
        await add_many(sqlite, "n", 9)
        clock = itertools.count(step=0.003)
        readers = Readers(path, timeout_seconds=5, monotonic=lambda: next(clock))
        found = await readers.fetch(ANN, sqlite.ids, (ANN,), False, max_bytes=None)
        assert found == [(f"n{number}",) for number in range(9)]
        assert len(readers._idle) == 1

        # No other row could take long.
        readers._idle.pop().close()
        one = Statement(f"{sqlite.ids.text} LIMIT 1", (), {})
        assert await readers.fetch(ANN, one, (ANN,), False, max_bytes=None) == [("n0",)]
        assert readers._idle == []
        await readers.close()

    async def test_a_long_value_is_read_in_a_thread(self, sqlite: Notebook) -> None:
        assert isinstance(sqlite.db, SqliteDatabase)
        short, long = "s" * 1_000, "l" * (MAX_INLINE_BYTES + 1)
        async with sqlite.db.transaction(ANN) as tx:
            await tx.execute(sqlite.add, (ANN, "1", short))
            await tx.execute(sqlite.add, (ANN, "2", long))
        slug = Statement("SELECT slug FROM notes WHERE id = ?", (), {})

        assert await sqlite.db.fetch(ANN, slug, ("1",)) == [(short,)]
        assert sqlite.db._readers._idle == []  # no reader thread was needed
        assert await sqlite.db.fetch(ANN, slug, ("2",)) == [(long,)]
        assert len(sqlite.db._readers._idle) == 1

        threads: list[str] = []
        connection = sqlite.db._writer.connection
        connection.set_trace_callback(lambda _: threads.append(threading.current_thread().name))
        async with sqlite.db.transaction(ANN) as tx:
            await tx.execute(sqlite.add, (ANN, "3", "three"))
            threads.clear()
            assert await tx.fetch(slug, ("1",)) == [(short,)]
            assert threads == ["MainThread"]
            assert await tx.fetch(slug, ("2",)) == [(long,)]
            assert threads[-1].startswith("sqlite-writer")
        connection.set_trace_callback(None)
        # The transaction is as it was.
        assert await sqlite.ids_of(ANN) == ["1", "2", "3"]

    async def test_a_schema_that_loads_slowly_is_loaded_once(self, sqlite: Notebook) -> None:
        """An interrupted read forgets what it has loaded."""
        path = sqlite_path(sqlite.url)
        assert path is not None
        # Every look at the clock is a second later: what takes 500 steps is interrupted.
        slow = Readers(path, timeout_seconds=5, monotonic=itertools.count().__next__)
        for change in ("first", "second"):
            tables = (f"CREATE TABLE {change}_{number} (id);" for number in range(200))
            with closing(sqlite3.connect(path)) as other:
                other.executescript(f"BEGIN; {' '.join(tables)} COMMIT;")
            await slow.fetch(ANN, sqlite.ids, (ANN,), False, max_bytes=None)
            slow._idle.pop().close()
            for _ in range(5):
                await slow.fetch(ANN, sqlite.ids, (ANN,), False, max_bytes=None)
            assert slow._idle == []  # no reader thread was needed again
        await slow.close()

    @pytest.mark.parametrize("slow", [False, True])
    async def test_an_endless_read_times_out(self, tmp_path: Path, slow: bool) -> None:
        db = await open_database(f"sqlite:///{tmp_path / 'x.db'}", statement_seconds=0.1)
        with pytest.raises(StatementTimeout):
            await db.fetch(ANN, ENDLESS, slow=slow)
        await db.close()

    async def test_more_endless_reads_than_threads_all_end(self, tmp_path: Path) -> None:
        db = await open_database(f"sqlite:///{tmp_path / 'x.db'}", statement_seconds=0.1)
        outcomes = await asyncio.gather(
            *(db.fetch(ANN, ENDLESS, slow=True) for _ in range(20)), return_exceptions=True
        )
        assert {type(each) for each in outcomes} == {StatementTimeout}
        await db.close()

    async def test_a_cancelled_read_frees_its_thread(self, tmp_path: Path) -> None:
        """Otherwise the next one would wait for an hour."""
        db = await open_database(f"sqlite:///{tmp_path / 'x.db'}", statement_seconds=3600)
        reads = [asyncio.create_task(db.fetch(ANN, ENDLESS, slow=True)) for _ in range(8)]
        await asyncio.sleep(0)
        for read in reads:
            read.cancel()
        await asyncio.wait(reads)
        assert await db.fetch(ANN, LONG, slow=True) == [(500_000,)]
        await db.close()

    async def test_a_read_cannot_write(self, sqlite: Notebook) -> None:
        for slow in (False, True):
            with pytest.raises(Unavailable):
                await sqlite.db.fetch(ANN, sqlite.add, (ANN, "1", "one"), slow=slow)

    async def test_the_data_version_changes_with_every_commit_of_any_process(
        self, sqlite: Notebook
    ) -> None:
        before = sqlite.db.data_version()
        assert sqlite.db.data_version() == before
        await add_many(sqlite, "own", 1)
        between = sqlite.db.data_version()
        with closing(sqlite3.connect(str(sqlite_path(sqlite.url)))) as other, other:
            other.execute("DELETE FROM notes")
        assert len({before, between, sqlite.db.data_version()}) == 3

    async def test_a_process_that_is_paused_still_reads_the_data_version(
        self, sqlite: Notebook
    ) -> None:
        # A second passes between any two looks at the clock.
        paused = Readers(
            Path(str(sqlite_path(sqlite.url))),
            timeout_seconds=1.0,
            monotonic=itertools.count().__next__,
        )
        assert len({paused.data_version() for _ in range(2_000)}) == 1
        await paused.close()


class TestStates:
    """The states are described at the top of `writer.py`."""

    async def test_from_idle_to_idle(self, sqlite: Notebook) -> None:
        assert isinstance(sqlite.db, SqliteDatabase)
        writer = sqlite.db._writer
        assert writer.state is WriterState.IDLE
        async with sqlite.db.transaction(ANN) as tx:
            assert writer.state is WriterState.GATHERING
            await tx.execute(sqlite.add, (ANN, "1", "one"))
            following = asyncio.create_task(add(sqlite, "2"))
            late = asyncio.create_task(self._state_when_committing(writer))
        assert await late is WriterState.COMMITTING
        await following
        assert writer.state is WriterState.IDLE

    async def _state_when_committing(self, writer: Writer) -> WriterState:
        while writer.state is not WriterState.COMMITTING:
            await asyncio.sleep(0)
        return writer.state

    async def test_a_batch_of_failed_transactions_is_not_committed(self, sqlite: Notebook) -> None:
        statements = traced(sqlite)
        with suppress(LookupError):
            async with sqlite.db.transaction(ANN) as tx:
                await tx.execute(sqlite.add, (ANN, "1", "one"))
                raise LookupError
        await asyncio.sleep(0)
        assert "COMMIT" not in statements
        assert statements[-1] == "ROLLBACK"
        assert isinstance(sqlite.db, SqliteDatabase)
        assert sqlite.db._writer.state is WriterState.IDLE

    async def test_all_queued_transactions_may_be_cancelled(self, sqlite: Notebook) -> None:
        async with sqlite.db.transaction(ANN):
            waiting = [asyncio.create_task(add(sqlite, f"w{i}")) for i in range(3)]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
        assert await add_many(sqlite, "n", 1) == [None]
        assert await sqlite.ids_of(ANN) == ["n0"]


class TestGroupCommit:
    async def test_concurrent_transactions_share_commits(self, sqlite: Notebook) -> None:
        statements = traced(sqlite)
        assert set(await add_many(sqlite, "n", 200)) == {None}
        assert statements.count("COMMIT") == -(-200 // MAX_BATCH)

    async def test_the_first_transaction_of_a_batch_needs_no_savepoint(
        self, sqlite: Notebook
    ) -> None:
        statements = traced(sqlite)
        assert await add_many(sqlite, "alone", 1) == [None]
        assert "SAVEPOINT member" not in statements
        assert await add_many(sqlite, "n", 3) == [None] * 3
        assert statements.count("SAVEPOINT member") == statements.count("RELEASE member") == 2

    async def test_after_a_first_transaction_that_fails_the_next_one_begins_the_batch(
        self, sqlite: Notebook
    ) -> None:
        await add(sqlite, "n0")
        statements = traced(sqlite)
        outcomes = await add_many(sqlite, "n", 3)
        assert [type(each) for each in outcomes] == [UniqueViolation, type(None), type(None)]
        assert statements.count("BEGIN IMMEDIATE") == 2
        assert statements.count("SAVEPOINT member") == statements.count("COMMIT") == 1
        assert await sqlite.ids_of(ANN) == ["n0", "n1", "n2"]

    async def test_a_commit_that_fails_fails_its_whole_batch(self, sqlite: Notebook) -> None:
        async def orphan() -> None:
            async with sqlite.db.transaction(ANN) as tx:
                # Lets the missing key fail at COMMIT, as a full disk would.
                await tx.execute(Statement("PRAGMA defer_foreign_keys = ON", (), {}))
                await tx.execute(sqlite.reply, (ANN, "r", "missing"))

        outcomes = await asyncio.gather(
            add(sqlite, "before"), orphan(), add(sqlite, "after"), return_exceptions=True
        )
        assert [type(each) for each in outcomes] == [Unavailable] * 3
        assert await sqlite.ids_of(ANN) == []
        assert await add_many(sqlite, "again", 1) == [None]

    async def test_an_error_that_rolls_the_batch_back_fails_its_earlier_transactions(
        self, sqlite: Notebook
    ) -> None:
        async def roll_back() -> None:
            async with sqlite.db.transaction(ANN) as tx:
                await tx.execute(sqlite.add, (ANN, "first", "taken"))
                # What SQLite does by itself when the disk is full or broken.
                text = sqlite.add.text.replace("INSERT", "INSERT OR ROLLBACK")
                await tx.execute(Statement(text, (), {}), (ANN, "second", "taken"))

        outcomes = await asyncio.gather(
            add(sqlite, "before"), roll_back(), add(sqlite, "after"), return_exceptions=True
        )
        assert [type(each) for each in outcomes] == [Unavailable, UniqueViolation, type(None)]
        assert await sqlite.ids_of(ANN) == ["after"]
        assert await add_many(sqlite, "again", 2) == [None, None]

    async def test_cancelling_a_queued_transaction(self, sqlite: Notebook) -> None:
        release = asyncio.Event()

        async def hold() -> None:
            async with sqlite.db.transaction(ANN):
                await release.wait()

        holding = asyncio.create_task(hold())
        waiting = [asyncio.create_task(add(sqlite, f"w{i}")) for i in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        release.set()
        await asyncio.wait([holding, *waiting])
        assert await sqlite.ids_of(ANN) == ["w1", "w2"]

    async def test_transactions_run_in_the_order_of_arrival(self, sqlite: Notebook) -> None:
        order = []

        async def write(number: int) -> None:
            async with sqlite.db.transaction(ANN) as tx:
                order.append(number)
                if number % 7 == 0:
                    await tx.fetch(IN_A_THREAD)  # while the others wait
                await tx.execute(sqlite.add, (ANN, str(number), str(number)))

        tasks = [asyncio.create_task(write(number)) for number in range(150)]
        await asyncio.sleep(0)
        for task in tasks[20:60]:
            task.cancel()
        await asyncio.wait(tasks)

        kept = [number for number, task in enumerate(tasks) if not task.cancelled()]
        assert order == sorted(order)
        assert len(kept) >= 110
        assert await sqlite.ids_of(ANN) == sorted(str(number) for number in kept)

    async def test_a_late_transaction_joins_the_next_batch(self, sqlite: Notebook) -> None:
        """Otherwise a steady stream of transactions would keep a batch open."""
        statements = traced(sqlite)

        async def write_on(name: str) -> None:
            for number in range(10):
                await add(sqlite, f"{name}{number}")

        await asyncio.gather(*(write_on(f"{number}-") for number in range(4 * MIN_BATCH)))

        commits = statements.count("COMMIT")
        assert commits >= 20, "half of them are prepared while the other half is committed"
        assert commits <= 10 * 4, "but they do share"

    async def test_failing_transactions_do_not_delay_the_commit_of_others(
        self, sqlite: Notebook
    ) -> None:
        failed = 0
        is_acknowledged = asyncio.Event()

        async def fail() -> None:
            nonlocal failed
            while not is_acknowledged.is_set() and failed < 1_000:
                with suppress(LookupError):
                    async with sqlite.db.transaction(ANN) as tx:
                        await tx.fetch(IN_A_THREAD)
                        raise LookupError
                failed += 1

        losers = [asyncio.create_task(fail()) for _ in range(MIN_BATCH + 4)]
        await asyncio.sleep(0)
        await add(sqlite, "1")
        is_acknowledged.set()
        await asyncio.gather(*losers)
        assert failed < 8 * MIN_BATCH

    async def test_deferred_rows_of_a_batch_are_one_statement(self, sqlite: Notebook) -> None:
        statements = traced(sqlite)

        async def write(number: int) -> None:
            async with sqlite.db.transaction(ANN) as tx:
                tx.defer(Deferral(sqlite.add, [(ANN, str(number), str(number))]))

        await asyncio.gather(*(write(number) for number in range(MIN_BATCH)))

        assert len([each for each in statements if each.startswith("INSERT")]) == 1
        assert statements.count("COMMIT") == 1

    async def test_a_transaction_inside_a_transaction_is_refused(self, sqlite: Notebook) -> None:
        with pytest.raises(RuntimeError, match="inside a transaction"):
            async with sqlite.db.transaction(ANN), sqlite.db.transaction(ANN):
                pass
        assert await add_many(sqlite, "n", 1) == [None]

    async def test_a_long_read_inside_a_transaction_keeps_it_intact(self, sqlite: Notebook) -> None:
        async with sqlite.db.transaction(ANN) as tx:
            await tx.execute(sqlite.add, (ANN, "1", "one"))
            assert await tx.fetch(LONG) == [(500_000,)]
        assert await sqlite.ids_of(ANN) == ["1"]


class TestSeveralProcesses:
    async def test_two_databases_on_one_file_write_at_once(self, sqlite: Notebook) -> None:
        other = await open_notebook(sqlite.url)
        outcomes = await asyncio.gather(add_many(sqlite, "a", 150), add_many(other, "b", 150))
        assert {each for both in outcomes for each in both} == {None}
        assert len(await sqlite.ids_of(ANN)) == 300
        await other.db.close()

    async def test_all_that_arrive_while_another_has_the_lock_join_one_batch(
        self, sqlite: Notebook
    ) -> None:
        statements = traced(sqlite)
        with closing(sqlite3.connect(str(sqlite_path(sqlite.url)))) as other:
            other.execute("BEGIN IMMEDIATE")
            first = asyncio.create_task(add(sqlite, "first"))
            await until(lambda: "BEGIN IMMEDIATE" in statements)
            adding = asyncio.create_task(add_many(sqlite, "n", 4 * MIN_BATCH))
            attempts = statements.count("BEGIN IMMEDIATE")
            await until(lambda: statements.count("BEGIN IMMEDIATE") > attempts + 1)
            other.rollback()
        assert await adding == [None] * 4 * MIN_BATCH
        await first
        assert statements.count("COMMIT") == 1

    async def test_a_lock_that_is_not_released_is_unavailable(self, sqlite: Notebook) -> None:
        impatient = await open_notebook(sqlite.url, statement_seconds=0.05)
        with closing(sqlite3.connect(str(sqlite_path(sqlite.url)))) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [type(each) for each in await add_many(impatient, "n", 3)] == [Unavailable] * 3
        assert await add_many(impatient, "n", 1) == [None]
        await impatient.db.close()


async def test_a_file_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await open_database(f"sqlite:///{tmp_path / 'missing' / 'x.db'}")


@pytest.mark.parametrize("url", ["mysql://x", "sqlite:///", "x.db"])
async def test_only_the_two_databases_have_urls(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///"):
        await open_database(url)


async def test_no_connection_maps_the_file_into_the_memory_of_the_process(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "notes.db", busy_seconds=0, query_only=True)) as connection:
        assert connection.execute("PRAGMA mmap_size").fetchone() == (0,)
