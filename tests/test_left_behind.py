"""A handled exception leaves no reference cycles behind."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from obstore.store import MemoryStore
from tests.garbage import no_cycles_of
from tests.log_lines import capture_logs
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.base.errors import AnswerTooLarge, MastheadError, Unavailable
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Job, JobRunner
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.versions import TenantVersions
from masthead.identity.limits.batches import BatchedStore
from masthead.identity.limits.store_sqlite import SqliteLimitStore
from masthead.outside.outbound.lookup import SystemLookup
from masthead.storage.cancelling import complete
from masthead.storage.database import EVERY_TENANT, RowsTooLarge, Statement, UniqueViolation
from masthead.storage.objects import ObjectStore
from masthead.storage.postgres.database import open_postgres

TENANT = TenantId("t" * 15)
MULTIPART = {"content-type": "multipart/form-data; boundary=x"}


class Broken(Exception):
    pass


def broken(*_: Any) -> Any:
    raise Broken


async def test_work_that_must_be_completed() -> None:
    async with no_cycles_of(Broken):
        for _ in range(3):
            with suppress(Broken):
                await complete(asyncio.to_thread(broken))
            with suppress(Broken):
                await complete(asyncio.get_running_loop().run_in_executor(None, broken))


async def test_an_unknown_host_name() -> None:
    lookup = SystemLookup()

    async def look_up() -> None:
        with suppress(OSError):
            await lookup("x" * 70 + ".example")

    async with no_cycles_of(OSError, UnicodeError):
        await asyncio.gather(look_up(), look_up())
        # The thread's own end.
        await asyncio.to_thread(int)
    await lookup.close()


async def test_a_counter_that_fails(tmp_path: Path) -> None:
    store = SqliteLimitStore(tmp_path / "limits.db")

    async def count() -> None:
        with suppress(Broken):
            await store.update(TENANT, ["a"], broken)

    async with no_cycles_of(Broken):
        await asyncio.gather(count(), count())
    await store.close()


async def test_a_batch_of_counters_whose_store_fails() -> None:
    class BrokenStore(BatchedStore):
        async def _update_locked(self, *_: Any) -> list[Any]:
            raise Broken

    batches = BrokenStore()

    async def count() -> None:
        with suppress(Broken):
            await batches.update(TENANT, ["a"], broken)

    async with no_cycles_of(Broken):
        await asyncio.gather(count(), count(), count())
        await batches.close()


async def test_a_shared_read_that_fails(tmp_path: Path) -> None:
    async with no_cycles_of(Unavailable):
        database = await open_postgres(f"postgresql:///nothing?host={tmp_path}")
        versions = TenantVersions(database)
        failed = await asyncio.gather(*(versions.of("a") for _ in range(2)), return_exceptions=True)
        assert len(failed) == 2
        del failed
        await database.close()


async def test_an_interrupted_upload() -> None:
    store = ObjectStore(MemoryStore())

    async def chunks() -> AsyncIterator[bytes]:
        yield bytes(9_000_000)
        raise Broken

    async def put() -> None:
        with suppress(Broken):
            await store.put("t/a", chunks())

    async with no_cycles_of(Broken):
        await put()


async def test_a_statement_that_fails(app: World) -> None:
    text = "INSERT INTO mails (tenant_id, id, recipient, content, created) VALUES ({})"
    statement = Statement(text.format("'t', 'm', '', '', ''"), (), {})

    async def fail(*, slow: bool) -> None:
        async with app.parts.database.transaction(EVERY_TENANT) as tx:
            for _ in range(2):
                await tx.execute(statement, slow=slow)

    async def fail_unnoticed() -> None:
        async with app.parts.database.transaction(EVERY_TENANT) as tx:
            for _ in range(2):
                with suppress(UniqueViolation):
                    await tx.execute(statement)

    async with no_cycles_of(UniqueViolation, sqlite3.Error, asyncpg.PostgresError):
        for failing in (fail(slow=False), fail(slow=True), fail_unnoticed()):
            with pytest.raises(UniqueViolation):
                await failing


async def test_a_job_that_fails(app: World, tenant: TenantWorld) -> None:
    async def work(_job: Job) -> None:
        raise Broken

    runner = JobRunner(app.parts.database, {"broken": work}, app.clock)
    async with no_cycles_of(Broken):
        async with app.parts.records.unit(system(tenant.id)) as unit:
            await unit.enqueue("broken", {})
        # Not shown on the terminal, for which the frames' values would be gathered.
        with capture_logs():
            assert await runner.run_due() == 1


async def test_rows_of_too_many_bytes(tenant: TenantWorld) -> None:
    await tenant.post(content_html="x" * 10_000)
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    async with no_cycles_of(AnswerTooLarge, RowsTooLarge):
        for _ in range(3):
            with suppress(AnswerTooLarge):
                await records.page(system(tenant.id), posts, ListRequest(max_bytes=5_000))


async def test_excerpts_that_take_too_long(tenant: TenantWorld) -> None:
    await tenant.published(content_html="&lt;" * 1_100_000)
    async with no_cycles_of(MastheadError):
        path = f"{records_of('posts')}?fields=content_html:excerpt(9999999)"
        assert (await tenant.guest.get(path)).status_code == 400


async def test_requests_that_are_refused(tenant: TenantWorld, owner: Account) -> None:
    posts = records_of("posts")
    async with no_cycles_of(MastheadError, Broken):
        for answer in (
            await tenant.guest.get(f"{posts}/nosuchpost00000"),
            await tenant.guest.get("/api/v1/posts"),
            await tenant.guest.get("/nowhere"),
            await tenant.guest.post(posts, json={}),
            await owner.api.post(posts, json={}),
            await owner.api.post(posts, content=b"{"),
            await owner.api.get(posts, params={"filter": "nonsense"}),
            await owner.api.post(records_of("media"), content=b"x", headers=MULTIPART),
            await owner.api.post(records_of("media"), files={"file": ("a.svg", b"<svg")}),
        ):
            assert 400 <= answer.status_code < 500, answer.text
            del answer
