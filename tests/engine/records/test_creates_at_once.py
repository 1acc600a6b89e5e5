"""Many creates at once, and creates while another process changes what they depend on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from tests.engine.records.test_tenant_cache import HOOK, TOGETHER, delivered, owner_of
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.base.errors import Forbidden, Invalid
from masthead.base.ids import new_id
from masthead.engine.events.outbox import events
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.tables import tenant_states
from masthead.features.webhooks.attempts import SendResult
from masthead.features.webhooks.results import QueueKey, Result
from masthead.features.webhooks.signing import Signed
from masthead.service.schema import tables
from masthead.service.services import Services, build
from masthead.storage.database import EVERY_TENANT


@pytest.fixture
async def elsewhere(app: World) -> AsyncIterator[Services]:
    """Another process with the same database."""
    parts = await build(app.parts.settings, app.clock)
    yield parts
    await parts.close()


async def create(tenant: TenantWorld, slug: str, parts: Services | None = None) -> Record:
    records = (parts or tenant.world.parts).records
    post = {"title": slug.title(), "slug": slug, "status": "published", "tags": ["a"]}
    return await records.create(owner_of(tenant), tenant.world.collection("posts"), post)


async def create_all(*work: Any) -> list[Any]:
    return await asyncio.gather(*work, return_exceptions=True)


async def event_ids_of(tenant: TenantWorld, *, deliveries: bool = False) -> set[str]:
    database = tenant.world.parts.records.database
    table = tables["webhook_deliveries"] if deliveries else events
    column = table.c.event_id if deliveries else table.c.id
    query = sa.select(column).where(table.c.tenant_id == sa.literal(tenant.id))
    statement = database.compile(query)
    return {row[0] for row in await database.fetch(EVERY_TENANT, statement, statement.bind({}))}


async def versions_of(tenant: TenantWorld) -> list[int]:
    """Returns the versions of all events, in their order."""
    database = tenant.world.parts.records.database
    query = sa.select(events.c.version).where(events.c.tenant_id == sa.literal(tenant.id))
    statement = database.compile(query.order_by(events.c.version, events.c.ordinal))
    rows = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return [row[0] for row in rows]


async def version_of(tenant: TenantWorld) -> int:
    database = tenant.world.parts.records.database
    query = sa.select(tenant_states.c.version)
    statement = database.compile(query.where(tenant_states.c.tenant_id == sa.literal(tenant.id)))
    rows = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return int(rows[0][0])


async def slugs_of(tenant: TenantWorld) -> set[str]:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    found = await records.find(posts, {}, tenant_id=tenant.id, limit=10_000)
    return {post["slug"] for post in found}


async def assert_whole(tenant: TenantWorld) -> None:
    """Totals, versions and events agree with the rows."""
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    page = await records.page(owner_of(tenant), posts, ListRequest())
    assert page.total == len(await slugs_of(tenant))
    tagged = await records.page(owner_of(tenant), posts, ListRequest(filter="tags ?= 'a'"))
    assert tagged.total == page.total
    assert max(await versions_of(tenant)) == await version_of(tenant)


async def test_each_has_a_version_of_its_own(tenant: TenantWorld) -> None:
    before = await version_of(tenant)
    created = await create_all(*(create(tenant, f"post-{number}") for number in range(40)))
    assert len({post["id"] for post in created}) == 40
    assert await version_of(tenant) == before + 40
    await assert_whole(tenant)


async def test_a_taken_slug_fails_its_create_and_no_other(
    tenant: TenantWorld,
) -> None:
    await create(tenant, "taken")
    slugs = ["a", "b", "taken", "c", "c"]
    outcomes = await create_all(*(create(tenant, slug) for slug in slugs))
    refused = [each for each in outcomes if isinstance(each, Invalid)]
    assert len(refused) == 2
    assert all(set(each.problems) == {"slug"} for each in refused)
    assert {"a", "b", "c"} <= await slugs_of(tenant)
    await assert_whole(tenant)


async def test_posts_of_one_title_get_a_number_each(tenant: TenantWorld) -> None:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    titled = {"title": "Hello", "status": "published", "tags": ["a"]}
    created = await create_all(
        *(records.create(owner_of(tenant), posts, titled) for _ in range(20))
    )
    assert {post["slug"] for post in created} == {
        "hello",
        *(f"hello-{number}" for number in range(2, 21)),
    }
    assert await slugs_of(tenant) == {post["slug"] for post in created}
    await assert_whole(tenant)


async def test_a_taken_id_is_not_mistaken_for_a_taken_slug(tenant: TenantWorld) -> None:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    first = await records.create(owner_of(tenant), posts, {"title": "Hello"})
    with pytest.raises(Invalid) as refused:
        await records.create(owner_of(tenant), posts, {"title": "Other", "id": first["id"]})
    assert set(refused.value.problems) == {"id"}


async def test_subscribers_get_an_event_for_each(tenant: TenantWorld) -> None:
    await tenant.create("webhook_subscriptions", HOOK)
    await create_all(*(create(tenant, f"post-{number}") for number in range(30)))
    assert len(await delivered(tenant, limit=10_000)) == 30
    assert await event_ids_of(tenant, deliveries=True) <= await event_ids_of(tenant)


async def test_a_subscription_disabled_by_the_worker_gets_no_event(
    tenant: TenantWorld,
) -> None:
    hook = await tenant.create("webhook_subscriptions", HOOK)
    await create(tenant, "first")
    queue = tenant.world.parts.webhooks.deliveries
    now = tenant.world.clock()
    key = QueueKey(tenant.id, hook["id"])
    claimed = await queue.claim({key: 1}, now)
    (delivery,) = claimed[key]
    failed = Result(
        attempt_id=new_id(),
        delivery=delivery,
        number=1,
        sent=SendResult("", Signed(0, "", ""), 500, 1, "", ""),
        at=now,
        state="dead",
        next_attempt_at=None,
    )
    assert await queue.record([failed], disable_after=1) == {key}
    before = len(await delivered(tenant, limit=10_000))
    await create_all(*(create(tenant, f"post-{number}") for number in range(5)))
    assert len(await delivered(tenant, limit=10_000)) == before


async def test_a_subscription_made_in_another_process_gets_the_next_event(
    tenant: TenantWorld, elsewhere: Services
) -> None:
    await create(tenant, "first")
    hooks = elsewhere.records.registry["webhook_subscriptions"]
    await elsewhere.records.create(owner_of(tenant), hooks, HOOK)
    await create(tenant, "next")
    assert await delivered(tenant) == ["post.published"]


async def test_a_site_made_read_only_in_another_process_refuses_changes(
    tenant: TenantWorld, elsewhere: Services
) -> None:
    await create(tenant, "first")
    settings = elsewhere.records.registry["site_settings"]
    (found,) = await elsewhere.records.find(settings, {}, tenant_id=tenant.id)
    frozen = {"read_only_mode": True}
    await elsewhere.records.update(system(tenant.id), settings, found["id"], frozen)
    with pytest.raises(Forbidden):
        await create(tenant, "next")
    assert "next" not in await slugs_of(tenant)


async def test_a_site_reopened_in_another_process_accepts_the_next_change(
    tenant: TenantWorld, elsewhere: Services
) -> None:
    await tenant.settings(read_only_mode=True)
    with pytest.raises(Forbidden):
        await create(tenant, "first")
    settings = elsewhere.records.registry["site_settings"]
    (found,) = await elsewhere.records.find(settings, {}, tenant_id=tenant.id)
    opened = {"read_only_mode": False}
    await elsewhere.records.update(system(tenant.id), settings, found["id"], opened)
    await create(tenant, "next")


@TOGETHER
async def test_two_processes_that_write_at_the_same_time_lose_nothing(
    tenant: TenantWorld, other_tenant: TenantWorld, elsewhere: Services
) -> None:
    work = []
    for number in range(60):
        work += [
            create(tenant, f"here-{number}"),
            create(tenant, f"there-{number}", elsewhere),
            create(other_tenant, f"here-{number}"),
            create(tenant, f"both-{number // 2}", elsewhere if number % 3 else None),
        ]
    outcomes = await create_all(*work)
    created = {each["slug"] for each in outcomes if not isinstance(each, BaseException)}
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert all(isinstance(each, Invalid) for each in refused)
    assert len(refused) == 30
    assert created == {
        f"{name}-{number}"
        for name, count in (("here", 60), ("there", 60), ("both", 30))
        for number in range(count)
    }
    for each in (tenant, other_tenant):
        await assert_whole(each)
    versions = await versions_of(tenant)
    assert len(set(versions)) == len(await slugs_of(tenant))
