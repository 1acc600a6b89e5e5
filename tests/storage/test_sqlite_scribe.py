"""The process that writes batches: it does what it is told, and whoever loses it goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.loop_time import LoopTime
from tests.storage.notebook import ANN, Notebook, new_url, open_notebook
from tests.storage.test_sqlite_blind import (
    add,
    add_blindly,
    another_process,
    blindly,
    outcomes_of,
    settle,
    traced,
    writer_of,
)

from masthead.errors import Unavailable
from masthead.storage.database import Overtaken, Transaction
from masthead.storage.scribe_process import File, packed, unpacked
from masthead.storage.sqlite_blind import Trust
from masthead.storage.sqlite_scribe import (
    MANY_BATCHES,
    REST_SECONDS,
    SETTINGS,
    WITHIN_SECONDS,
    Scribe,
)
from masthead.storage.urls import sqlite_path

GONE_SECONDS = 30.0


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await open_notebook(new_url("sqlite", tmp_path))
    yield opened
    await opened.db.close()


def pid_of(notebook: Notebook) -> int:
    scribe = writer_of(notebook).scribes.at_work
    assert scribe is not None
    assert scribe._process is not None
    return scribe._process.pid


async def is_gone(pid: int) -> bool:
    async with asyncio.timeout(GONE_SECONDS):
        while _state_of(pid) not in ("", "Z"):
            await asyncio.sleep(0.01)
    return True


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


async def test_who_writes_much_gets_it(notebook: Notebook, loop_time: LoopTime) -> None:
    settled = await settle(notebook)
    with loop_time.at_most(WITHIN_SECONDS / 2):
        for number in range(MANY_BATCHES):
            assert writer_of(notebook).scribes.hiring is None
            await add_blindly(notebook, f"n{number}")
    hiring = writer_of(notebook).scribes.hiring
    assert hiring is not None
    await hiring
    statements = traced(notebook)
    assert await add_blindly(notebook, "by another process") == settled + MANY_BATCHES + 1
    assert statements == []
    assert "by another process" in await notebook.ids_of(ANN)


async def test_who_writes_as_much_in_a_longer_time_does_not(
    notebook: Notebook, loop_time: LoopTime
) -> None:
    await settle(notebook)
    for number in range(MANY_BATCHES + 1):
        loop_time.skip(WITHIN_SECONDS / MANY_BATCHES * 1.1)
        await add_blindly(notebook, f"n{number}")
    assert writer_of(notebook).scribes.hiring is None
    assert writer_of(notebook).scribes.at_work is None


async def test_it_is_let_go_when_nothing_is_written(
    notebook: Notebook, loop_time: LoopTime
) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()
    pid = pid_of(notebook)
    await loop_time.go_by(REST_SECONDS / 2)
    await add_blindly(notebook, "a")
    await loop_time.go_by(REST_SECONDS * 0.6)
    assert pid_of(notebook) == pid
    await loop_time.go_by(REST_SECONDS)
    assert writer_of(notebook).scribes.at_work is None
    assert await is_gone(pid)
    assert await add_blindly(notebook, "b") == settled + 2


async def test_what_it_writes_is_synced() -> None:
    """As what the service itself writes."""
    assert "PRAGMA synchronous = FULL" in SETTINGS
    assert "PRAGMA foreign_keys = ON" in SETTINGS
    assert "PRAGMA secure_delete = ON" in SETTINGS


async def test_the_log_is_folded_in_when_it_is_long(notebook: Notebook) -> None:
    await settle(notebook)
    await writer_of(notebook).scribes.hire()
    log = Path(f"{sqlite_path(notebook.url)}-wal")
    writer_of(notebook)._checkpoints.is_log_long = True
    await add_blindly(notebook, "long")
    assert not writer_of(notebook)._checkpoints.is_log_long
    before = log.stat().st_size
    # All of it was folded in, so it starts over.
    await add_blindly(notebook, "next")
    assert log.stat().st_size == before


async def test_one_that_dies_is_not_missed(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()
    await add_blindly(notebook, "a")
    pid = pid_of(notebook)
    os.kill(pid, signal.SIGKILL)
    assert await is_gone(pid)
    outcomes = await outcomes_of(add_blindly(notebook, "b"))
    # Either it was known already, or whether "b" was written is not.
    assert outcomes == [settled + 2] or isinstance(outcomes[0], Unavailable)
    assert await add(notebook, "c") == await notebook.number_of(ANN)
    assert {"a", "c"} <= set(await notebook.ids_of(ANN))


async def test_one_that_dies_at_it_is_told(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()
    with closing(another_process(notebook)) as other:
        other.execute("BEGIN IMMEDIATE")
        adding = asyncio.create_task(add_blindly(notebook, "a"))
        await asyncio.sleep(0)
        os.kill(pid_of(notebook), signal.SIGKILL)
        with pytest.raises(Unavailable):
            await adding
    assert await add(notebook, "b") == settled + 1
    assert "a" not in await notebook.ids_of(ANN)
    for number in range(Trust.FIRST):
        await add(notebook, f"again{number}")
    assert await add_blindly(notebook, "c") == settled + Trust.FIRST + 2


async def test_signals_to_the_whole_group_do_not_end_it(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(pid_of(notebook), number)
    assert await add_blindly(notebook, "a") == settled + 1


async def test_it_ends_with_the_service(tmp_path: Path) -> None:
    notebook = await open_notebook(new_url("sqlite", tmp_path))
    await writer_of(notebook).scribes.hire()
    pid = pid_of(notebook)
    await notebook.db.close()
    assert await is_gone(pid)


async def test_it_ends_when_the_service_is_killed(notebook: Notebook) -> None:
    await writer_of(notebook).scribes.hire()
    scribe = writer_of(notebook).scribes.at_work
    assert scribe is not None
    assert scribe._transport is not None
    # As the kernel does for whoever is gone.
    scribe._transport.abort()
    assert await is_gone(pid_of(notebook))


async def test_one_that_can_not_open_the_file_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with pytest.raises(Unavailable):
        await Scribe.start(File(str(path), 1, 1), 1.0)
    assert not path.exists()


async def test_one_that_finds_another_file_in_its_place_is_not_taken(notebook: Notebook) -> None:
    await settle(notebook)
    path = sqlite_path(notebook.url)
    assert path is not None
    with closing(another_process(notebook)) as other:
        other.execute("VACUUM INTO ?", (str(path.with_name("copy.db")),))
    path.with_name("copy.db").replace(path)
    await writer_of(notebook).scribes.hire()
    assert writer_of(notebook).scribes.at_work is None
    # As before: to the file that was opened.
    await add_blindly(notebook, "a")
    async with notebook.db.transaction(ANN) as tx:
        assert ("a",) in [tuple(row) for row in await tx.fetch(notebook.ids, (ANN,))]


async def test_it_knows_no_secret(notebook: Notebook) -> None:
    await writer_of(notebook).scribes.hire()
    environment = Path(f"/proc/{pid_of(notebook)}/environ").read_bytes()
    names = {each.partition(b"=")[0] for each in environment.split(b"\0") if each}
    assert names <= {b"LC_CTYPE"}


async def test_a_value_that_no_database_takes_is_one_tries_own_fault(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()

    async def add_impossible(tx: Transaction) -> None:
        await tx.count_up(notebook.count_up, ANN)
        await tx.execute(notebook.add, (ANN, "impossible", 2**70))

    with pytest.raises(Overtaken):
        await blindly(notebook, add_impossible)
    assert await add(notebook, "a") == settled + 1
    assert writer_of(notebook).scribes.at_work is not None


async def test_there_is_one_at_a_time(notebook: Notebook) -> None:
    await settle(notebook)
    await writer_of(notebook).scribes.hire()
    first = writer_of(notebook).scribes.at_work
    for number in range(MANY_BATCHES + 1):
        await add_blindly(notebook, f"n{number}")
    assert writer_of(notebook).scribes.at_work is first
    assert writer_of(notebook).scribes.hiring is None


async def test_after_the_end_nothing_is_taken(tmp_path: Path) -> None:
    notebook = await open_notebook(new_url("sqlite", tmp_path))
    await settle(notebook)
    await notebook.db.close()
    assert notebook.db.blind_transaction(ANN) is None


async def test_what_can_not_be_sent_is_written_all_the_same(notebook: Notebook) -> None:
    class Name(str):
        __slots__ = ()

    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()

    async def work(tx: Transaction) -> None:
        await tx.count_up(notebook.count_up, ANN)
        await tx.execute(notebook.add, (ANN, Name("a"), Name("a")))

    await blindly(notebook, work)
    assert "a" in await notebook.ids_of(ANN)
    assert await notebook.number_of(ANN) == settled + 1


async def test_ordinary_transactions_and_its_batches_take_turns(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()

    async def either(number: int) -> None:
        try:
            if number % 3:
                await add_blindly(notebook, f"n{number}")
                return
        except (Overtaken, AssertionError):
            pass
        await add(notebook, f"n{number}")

    await asyncio.gather(*(either(number) for number in range(200)))
    assert len(await notebook.ids_of(ANN)) == settled + 200
    assert await notebook.number_of(ANN) == settled + 200


def test_a_message_is_whole_or_not_there() -> None:
    message = [("INSERT", ["a", 1, None, 1.5, b"x"], [(1, 2)])]
    data = packed(message)
    assert all(unpacked(data[:end]) is None for end in range(len(data)))
    assert unpacked(data + b"more") == (message, len(data))


async def test_rows_written_elsewhere_meanwhile_are_heeded(notebook: Notebook) -> None:
    settled = await settle(notebook)
    await writer_of(notebook).scribes.hire()
    path = sqlite_path(notebook.url)
    assert path is not None
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE numbers SET number = number + 1")
    with pytest.raises(Overtaken):
        await add_blindly(notebook, "a")
    assert await add(notebook, "a") == settled + 2
