"""Behind PgBouncer in transaction mode, where two transactions may run on two servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.pooler import needs_pgbouncer, through_pooler
from tests.storage.notebook import (
    ANN,
    BOB,
    LIKE_ALL,
    Notebook,
    like_while_hanging,
    new_url,
    notes_of_two,
    sql,
)

from masthead.base.errors import StatementTimeout, Unavailable
from masthead.storage.database import EVERY_TENANT, Scope, UniqueViolation
from masthead.storage.postgres.database import open_postgres

pytestmark = needs_pgbouncer


@pytest.fixture
async def pooled(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await notes_of_two(through_pooler(new_url("postgresql", tmp_path)))
    yield opened
    await opened.db.close()


async def test_every_statement_has_its_own_scope(pooled: Notebook) -> None:
    async def visible(scope: Scope) -> list[str]:
        rows = await pooled.db.fetch(scope, sql("SELECT id FROM notes ORDER BY id"))
        return [row[0] for row in rows]

    expected = {ANN: ["a"], BOB: ["b"], EVERY_TENANT: ["a", "b"], Scope("it's"): []}
    scopes = list(expected) * 5
    # Not all at once: on a busy machine a read may wait too long for a connection.
    for _ in range(5):
        found = await asyncio.gather(*map(visible, scopes))
        assert found == [expected[scope] for scope in scopes]


@pytest.mark.parametrize("limit", [{"idle_seconds": 0.1}, {"transaction_seconds": 0.5}])
async def test_the_transaction_of_a_process_that_hangs_ends(
    pooled: Notebook, limit: dict[str, float]
) -> None:
    """Its locks would keep everyone else from writing."""
    hung = await open_postgres(pooled.url, **limit)
    with pytest.raises(Unavailable):
        await like_while_hanging(hung, pooled.db)
    assert await pooled.likes_of(ANN, "a") == 1
    async with hung.transaction(EVERY_TENANT) as tx:
        await tx.execute(LIKE_ALL)
    await hung.close()


async def test_nobody_listens_where_notifications_would_go_elsewhere(pooled: Notebook) -> None:
    assert await pooled.db.listen(print) is None
    async with pooled.db.transaction(ANN) as tx:
        tx.notify("tenant")


async def test_nothing_stays_on_the_server_that_the_next_user_would_have(
    pooled: Notebook,
) -> None:
    other = await open_postgres(pooled.url)
    shown = sql(
        "SELECT current_user::text, current_setting('statement_timeout'), pg_backend_pid(),"
        " (SELECT count(*) FROM pg_prepared_statements)"
    )
    await asyncio.gather(*(db.fetch(ANN, sql("SELECT pg_sleep(0.1)")) for db in (pooled.db, other)))
    seen = [await db.fetch(ANN, shown) for db in (pooled.db, other) * 4]
    await other.close()

    assert {row[:2] for (row,) in map(tuple, seen)} == {("masthead_tenant_rls", "5s")}
    assert len({row[2] for (row,) in seen}) == 2  # both servers
    assert {row[3] for (row,) in seen} == {0}


async def test_failures_are_those_of_a_direct_connection(pooled: Notebook) -> None:
    with pytest.raises(UniqueViolation) as refused:
        async with pooled.db.transaction(ANN) as tx:
            await tx.execute(pooled.add, (ANN, "c", "of-ann"))
    assert refused.value.columns == ("tenant_id", "slug")
    assert await pooled.ids_of(ANN) == ["a"]

    impatient = await open_postgres(pooled.url, statement_seconds=0.1)
    with pytest.raises(StatementTimeout):
        await impatient.fetch(ANN, sql("SELECT pg_sleep(3600)"))
    await impatient.ping()
    await impatient.close()


async def test_a_cancelled_read_leaves_no_transaction_open(pooled: Notebook) -> None:
    reading = asyncio.create_task(pooled.db.fetch(ANN, sql("SELECT pg_sleep(3600)")))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    open_ones = sql("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in trans%'")
    ((count,),) = await pooled.db.fetch(EVERY_TENANT, open_ones)
    assert count == 0
    assert await pooled.ids_of(ANN) == ["a"]
