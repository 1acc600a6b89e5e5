"""An item that raises, planted in each loop of the worker, delays no other: not in its own site,
and not in another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.every_row import delete_every_row
from tests.outside.outbound.names import NameServer
from tests.poisoned import poison
from tests.world import START, TenantWorld, World, open_world

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job, JobRunner
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.search.index import Indexer
from masthead.features.commerce.collection import carts
from masthead.service.background import job_handlers, job_runner
from masthead.service.schema import complete_metadata
from masthead.storage.database import EVERY_TENANT

CART = {"email": "ada@example.com", "items": [{"name": "Pen", "quantity": 2}]}
ROOM = 4
"""More raising jobs than a worker runs at once."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def apart(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """A service whose rows no other test reads."""
    names = NameServer()
    await names.start()
    folder = tmp_path_factory.mktemp("raising")
    url, server = fresh_url(request.param, folder), f"127.0.0.1:{names.port}"
    world = await open_world(url, folder, MASTHEAD_DNS_SERVER=server)
    yield world
    await world.parts.close()
    names.close()


@pytest.fixture
async def world(apart: World) -> World:
    apart.clock.moment = START
    await delete_every_row(apart.parts.database)
    return apart


async def queued(world: World) -> list[tuple[str, str]]:
    """Kind and error of each job."""
    statement = world.parts.database.compile(sa.select(jobs.c.kind, jobs.c.error))
    rows = await world.parts.database.fetch(EVERY_TENANT, statement)
    return [(row[0], row[1]) for row in rows]


class TestJobs:
    async def test_of_every_kind(self, world: World) -> None:
        """The real handlers, with payloads that none of them can use."""
        broken, fine = await world.new_tenant("broken"), await world.new_tenant("fine")
        passed: list[str] = []

        def watched(kind: str, handler: Handler) -> Handler:
            async def handle(job: Job) -> None:
                if job.tenant_id == fine.id:
                    passed.append(kind)
                else:
                    await handler(job)

            return handle

        real = job_handlers(world.parts)
        kinds = {kind: watched(kind, handler) for kind, handler in real.items()}
        for tenant, count in ((broken, ROOM), (fine, 1)):
            async with world.parts.records.unit(system(tenant.id)) as unit:
                for kind in kinds:
                    for _ in range(count):
                        await unit.enqueue(kind, {})
            world.clock.advance(seconds=1)
        runner = JobRunner(world.parts.database, kinds, world.clock)
        while await runner.run_due():
            pass
        assert sorted(passed) == sorted(kinds)
        left = await queued(world)
        assert {"imports.run", "site_export.make", "media.copies", "privacy.erase"} <= {
            kind for kind, error in left if error == "KeyError"
        }

    async def test_whose_payload_can_not_be_read(self, world: World) -> None:
        tenant = await world.new_tenant()
        done: list[Mapping[str, Any]] = []

        async def count(job: Job) -> None:
            done.append({"number": job.payload["number"]})

        async with world.parts.records.unit(system(tenant.id)) as unit:
            spoilt = await unit.enqueue("count", {"number": 1})
            await unit.enqueue("other", {"number": 2})
        # PostgreSQL's JSON is at least well-formed.
        text = "{" if world.engine == "sqlite" else "[]"
        await poison(world.parts.database, "jobs", spoilt, payload=text)
        runner = JobRunner(world.parts.database, {"count": count, "other": count}, world.clock)
        await runner.run_due()
        assert done == [{"number": 2}]
        assert await queued(world) == [("count", "KeyError")]


class TestChores:
    """All of them, as a worker does them at its start."""

    async def plant(self, tenant: TenantWorld) -> dict[str, Record]:
        """Something of every loop over sites that is due."""
        long_ago = clock.to_text(tenant.world.clock() - timedelta(days=3))
        database, find = tenant.world.parts.database, tenant.world.parts.records.find
        found = {
            name: (await find(tenant.world.collection(name), {}, tenant_id=tenant.id))[0]
            for name in ("newsletters", "site_settings")
        }
        digest = {"digest": True, "digest_weekday": "friday", "digest_hour": 9}
        await tenant.update("newsletters", found["newsletters"]["id"], digest)
        await poison(database, "newsletters", found["newsletters"]["id"], digest_at=long_ago)
        await poison(
            database,
            "site_settings",
            found["site_settings"]["id"],
            custom_domain=f"{tenant.slug}.example",
            domain_check_at=long_ago,
        )
        found["carts"] = await tenant.create("carts", CART)
        await poison(database, "carts", found["carts"]["id"], idle_since=long_ago)
        post = await tenant.post()
        await tenant.world.parts.records.delete(
            system(tenant.id), tenant.world.collection("posts"), post["id"]
        )
        [found["trash"]] = await find(tenant.world.collection("trash"), {}, tenant_id=tenant.id)
        await poison(database, "trash", found["trash"]["id"], expires_at=long_ago)
        return found

    async def test_of_all_sites_although_those_of_one_raise(self, world: World) -> None:
        """The sites before and after it get everything that is due."""
        database = world.parts.database
        sites = [await world.new_tenant(name) for name in ("first", "broken", "last")]
        planted = {tenant.id: await self.plant(tenant) for tenant in sites}
        spoilt: dict[str, dict[str, str]] = {
            "newsletters": {"digest_weekday": "never"},
            "site_settings": {"domain_missing_since": "never"},
            "trash": {"owners": "5"},
        }
        for name, values in spoilt.items():
            await poison(database, name, planted[sites[1].id][name]["id"], **values)
        await job_runner(world.parts).do_chores()
        now = clock.to_text(world.clock())
        find = world.parts.records.find
        for tenant in sites:
            for name, field in (
                ("newsletters", "digest_at"),
                ("site_settings", "domain_check_at"),
                ("carts", "idle_since"),
                ("trash", "expires_at"),
            ):
                key = {"id": planted[tenant.id][name]["id"]}
                found = await find(world.collection(name), key, tenant_id=tenant.id)
                is_due = bool(found) and "" < found[0][field] <= now
                assert is_due is (tenant is sites[1] and name in spoilt), (tenant.slug, name)


class TestDueRecords:
    async def carts(self, world: World, count: int) -> tuple[TenantWorld, list[str]]:
        tenant = await world.new_tenant()
        made = [await tenant.create("carts", CART) for _ in range(count)]
        world.clock.advance(days=2)
        return tenant, [each["id"] for each in made]

    async def test_those_that_raise_or_stay_due_are_tried_once(self, world: World) -> None:
        tenant, ids = await self.carts(world, 9)
        raising, staying = set(ids[:4]), set(ids[4:6])
        tried: list[str] = []

        async def work(tenant_id: TenantId, some: list[str]) -> None:
            async with world.parts.records.unit(system(tenant_id)) as unit:
                for each in some:
                    if len(some) == 1:
                        tried.append(each)
                    if each in raising:
                        raise KeyError(each)
                    if each not in staying:
                        await unit.update(carts, each, {"status": "abandoned"})

        until = world.clock()
        async with asyncio.timeout(20):
            # Smaller than the number of those that raise: they fill whole pages.
            await work_off_due(
                world.parts.records, carts, "idle_since", until, work=work, at_once=2
            )
        left = await world.parts.records.due(carts, "idle_since", until, 10)
        assert set(left[tenant.id]) == raising | staying
        assert {each: tried.count(each) for each in raising} == dict.fromkeys(raising, 1)


class TestSearchIndex:
    async def test_a_text_that_can_not_be_read(self, world: World) -> None:
        broken, fine = await world.new_tenant("broken"), await world.new_tenant("fine")
        spoilt = [await broken.published(title="Harbour", tags=["a"]) for _ in range(3)]
        for each in spoilt:
            await poison(world.parts.database, "posts", each["id"], tags="5")
        await fine.published(title="Lighthouse")
        indexer = Indexer(world.parts.records.search_index)
        await indexer.run_batch()
        queue = complete_metadata().tables["search_queue"]
        statement = world.parts.database.compile(sa.select(queue.c.record_id))
        assert await world.parts.database.fetch(EVERY_TENANT, statement) == []
        found = await fine.guest.get("/search?q=lighthouse")
        assert "Lighthouse" in found.text
