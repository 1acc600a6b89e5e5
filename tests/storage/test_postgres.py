"""Only for PostgreSQL: row-level security, a server that stops, the server's own timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from tests.databases import create_tables, start_again, start_postgres_server
from tests.loop_time import LoopTime
from tests.storage.notebook import (
    ANN,
    BOB,
    LIKE_ALL,
    Notebook,
    like_while_hanging,
    metadata,
    new_url,
    notes_of_two,
    open_notebook,
    sql,
)

from masthead.base.errors import StatementTimeout, Unavailable
from masthead.storage.database import EVERY_TENANT, Scope, UniqueViolation
from masthead.storage.postgres.database import CONNECT_SECONDS, open_postgres


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await notes_of_two(new_url("postgresql", tmp_path))
    yield opened
    await opened.db.close()


class TestRowLevelSecurity:
    async def test_a_tenant_reads_only_its_own_rows(self, postgres: Notebook) -> None:
        for scope, expected in ((ANN, ["a"]), (BOB, ["b"]), (EVERY_TENANT, ["a", "b"])):
            rows = await postgres.db.fetch(scope, sql("SELECT id FROM notes ORDER BY id"))
            assert [row[0] for row in rows] == expected

    async def test_no_scope_reads_nothing(self, postgres: Notebook) -> None:
        assert await postgres.db.fetch(Scope(""), sql("SELECT id FROM notes")) == []

    async def test_a_tenant_cannot_change_or_remove_rows_of_another(
        self, postgres: Notebook
    ) -> None:
        async with postgres.db.transaction(ANN) as tx:
            assert await tx.execute(sql("UPDATE notes SET likes = 9 WHERE id = 'b'")) == 0
            assert await tx.execute(sql("DELETE FROM notes WHERE id = 'b'")) == 0
        assert await postgres.likes_of(BOB, "b") == 0

    @pytest.mark.parametrize(
        "text",
        [
            "INSERT INTO notes (tenant_id, id, slug) VALUES ('bob', 'x', 'x')",
            "UPDATE notes SET tenant_id = 'bob' WHERE id = 'a'",
        ],
    )
    async def test_a_tenant_cannot_write_rows_into_another(
        self, postgres: Notebook, text: str
    ) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with postgres.db.transaction(ANN) as tx:
                await tx.execute(sql(text))
        assert await postgres.ids_of(BOB) == ["b"]

    async def test_the_scope_follows_the_call_and_not_the_connection(
        self, postgres: Notebook
    ) -> None:
        one_connection = await open_postgres(postgres.url, pool_size=1)

        async def visible(scope: Scope) -> list[str]:
            rows = await one_connection.fetch(scope, sql("SELECT id FROM notes ORDER BY id"))
            return [row[0] for row in rows]

        for _ in range(2):
            assert await visible(ANN) == ["a"]
            with pytest.raises(LookupError):
                async with one_connection.transaction(BOB):
                    raise LookupError
            assert await visible(ANN) == ["a"]
            assert await visible(EVERY_TENANT) == ["a", "b"]
        await one_connection.close()

    async def test_policies_apply_to_the_tables_owner_too(self, postgres: Notebook) -> None:
        owner = await asyncpg.connect(postgres.url)
        await owner.execute(
            "DROP ROLE IF EXISTS plain_owner; CREATE ROLE plain_owner LOGIN;"
            "GRANT ALL ON SCHEMA public TO plain_owner;"
            "ALTER TABLE replies OWNER TO plain_owner; ALTER TABLE notes OWNER TO plain_owner"
        )
        db = await open_postgres(postgres.url.replace("//postgres:", "//plain_owner:"))
        rows = await db.fetch(ANN, sql("SELECT current_user::text, id FROM notes"))
        assert [tuple(row) for row in rows] == [("plain_owner", "a")]
        await db.close()
        await owner.execute(
            "REASSIGN OWNED BY plain_owner TO postgres; DROP OWNED BY plain_owner;"
            "DROP ROLE plain_owner"
        )
        await owner.close()


async def test_a_statement_is_cancelled_at_its_timeout(postgres: Notebook) -> None:
    db = await open_postgres(postgres.url, statement_seconds=0.1)
    with pytest.raises(StatementTimeout):
        await db.fetch(ANN, sql("SELECT pg_sleep(3600)"))
    await db.ping()
    await db.close()


async def test_a_write_that_waits_too_long_for_a_lock_may_be_tried_again(
    postgres: Notebook,
) -> None:
    """A service that was cut off keeps its locks until the server notices."""
    db = await open_postgres(postgres.url, statement_seconds=0.1)
    update = sql("UPDATE notes SET tenant_id = tenant_id")
    async with postgres.db.transaction(EVERY_TENANT) as cut_off:
        await cut_off.execute(update)
        with pytest.raises(Unavailable):
            async with db.transaction(EVERY_TENANT) as tx:
                await tx.execute(update)
    await db.close()


@pytest.mark.parametrize("limit", [{"idle_seconds": 0.1}, {"transaction_seconds": 0.5}])
async def test_the_transaction_of_a_process_that_hangs_ends(
    postgres: Notebook, limit: dict[str, float]
) -> None:
    """Its locks would keep everyone else from writing."""
    hung = await open_postgres(postgres.url, **limit)
    with pytest.raises(Unavailable):
        await like_while_hanging(hung, postgres.db)
    assert await postgres.likes_of(ANN, "a") == 1
    async with hung.transaction(EVERY_TENANT) as tx:
        await tx.execute(LIKE_ALL)
    await hung.close()


async def test_notifications_come_with_the_commit(postgres: Notebook) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = await postgres.db.listen(heard.put_nowait)
    assert listening is not None
    with pytest.raises(UniqueViolation):
        await _notify_and_fail(postgres)
    async with postgres.db.transaction(EVERY_TENANT) as tx:
        tx.notify("committed")
    assert await asyncio.wait_for(heard.get(), 10) == "committed"
    assert listening.is_open()
    await listening.close()
    assert not listening.is_open()


async def _notify_and_fail(postgres: Notebook) -> None:
    async with postgres.db.transaction(EVERY_TENANT) as tx:
        tx.notify("lost")
        for _ in range(2):
            await tx.execute(postgres.add, (ANN, "twice", "twice"))


async def test_a_deadlock_is_a_transient_error(postgres: Notebook) -> None:
    async with postgres.db.transaction(ANN) as tx:
        await tx.execute(postgres.add, (ANN, "c", "second"))
    both_hold_one = asyncio.Barrier(2)

    async def like(first: str, second: str) -> None:
        async with postgres.db.transaction(ANN) as tx:
            await tx.execute(postgres.like, postgres.like.bind({"tenant": ANN, "note": first}))
            await both_hold_one.wait()
            await tx.execute(postgres.like, postgres.like.bind({"tenant": ANN, "note": second}))

    outcomes = await asyncio.gather(like("a", "c"), like("c", "a"), return_exceptions=True)

    assert sorted(type(each).__name__ for each in outcomes) == ["NoneType", "Unavailable"]


async def test_an_exhausted_pool_is_unavailable_within_its_timeout(
    postgres: Notebook, loop_time: LoopTime
) -> None:
    db = await open_postgres(postgres.url, pool_size=1)
    async with db.transaction(ANN):
        reading = asyncio.create_task(db.fetch(ANN, sql("SELECT 1")))
        await loop_time.advance(CONNECT_SECONDS + 1)
        with pytest.raises(Unavailable):
            await reading
    await db.close()


async def test_a_stopped_server_is_noticed_immediately_and_reconnected(loop_time: LoopTime) -> None:
    server = start_postgres_server(durable=True)
    url = server.get_uri()
    create_tables(url, metadata)
    notebook = await open_notebook(url)
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "1", "one"))

    server.stop()
    # Before any timeout.
    with loop_time.at_most(CONNECT_SECONDS / 2):
        with pytest.raises(Unavailable):
            await notebook.db.fetch(ANN, notebook.ids, (ANN,))
        with pytest.raises(Unavailable):
            async with notebook.db.transaction(ANN):
                pass
        with pytest.raises(Unavailable):
            await notebook.db.ping()

    start_again(server)
    assert await notebook.ids_of(ANN) == ["1"]
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "2", "two"))
    await notebook.db.close()
    server.stop()


@pytest.fixture
async def killer(postgres: Notebook) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres.url)
    yield connection
    await connection.close()


async def kill(killer: asyncpg.Connection, pid: int) -> None:
    """Returns once the server process has ended."""
    await killer.execute("SELECT pg_terminate_backend($1, 5000)", pid)


# The server's last message, the end of the connection and the next statement come in any order.
@pytest.mark.parametrize("loop_iterations", range(6))
class TestAServerProcessThatDies:
    @pytest.mark.parametrize("is_the_last", [False, True])
    async def test_inside_a_transaction_or_before_its_commit(
        self,
        postgres: Notebook,
        killer: asyncpg.Connection,
        loop_iterations: int,
        is_the_last: bool,
    ) -> None:
        async def write() -> None:
            async with postgres.db.transaction(ANN) as tx:
                pid = (await tx.fetch(sql("SELECT pg_backend_pid()")))[0][0]
                await tx.execute(postgres.add, (ANN, "x", "x"))
                await kill(killer, pid)
                for _ in range(loop_iterations):
                    await asyncio.sleep(0)
                if not is_the_last:
                    await tx.execute(postgres.add, (ANN, "y", "y"))

        with pytest.raises(Unavailable):
            await write()
        assert await postgres.ids_of(ANN) == ["a"]

    async def test_while_its_connection_is_idle_in_the_pool(
        self, postgres: Notebook, killer: asyncpg.Connection, loop_iterations: int
    ) -> None:
        """At most one call fails; the connection is not used again."""
        pid = (await postgres.db.fetch(ANN, sql("SELECT pg_backend_pid()")))[0][0]
        await kill(killer, pid)
        for _ in range(loop_iterations):
            await asyncio.sleep(0)
        with suppress(Unavailable):
            await postgres.ids_of(ANN)
        assert await postgres.ids_of(ANN) == ["a"]
