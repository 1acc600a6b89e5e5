"""A cached tenant is never older than the version that a change reads."""

from __future__ import annotations

import asyncio

import pytest
from tests.world import TenantWorld, World

from masthead.base.caller import Caller, Kind, system
from masthead.base.errors import Forbidden, Invalid, Unavailable
from masthead.engine.records.write.unit import Unit
from masthead.service.services import build
from masthead.storage.database import Statement

TOGETHER = pytest.mark.parametrize("service", ["sqlite"], indirect=True)
"""Only SQLite commits several changes together."""

HOOK = {"name": "n", "url": "https://example.com/hook", "events": ["post.published"]}


async def delivered(tenant: TenantWorld, limit: int = 10) -> list[str]:
    """The events of all deliveries that are queued."""
    found = await tenant.world.parts.records.find(
        tenant.world.collection("webhook_deliveries"), {}, tenant_id=tenant.id, limit=limit
    )
    return [delivery["event"] for delivery in found]


async def fail_at_commit(unit: Unit) -> None:
    """As a full disk would."""
    for text in (
        "PRAGMA defer_foreign_keys = ON",
        "INSERT INTO pages (tenant_id, id) VALUES ('nobody', 'x')",
    ):
        await unit.execute(Statement(text, (), {}), {})


def owner_of(tenant: TenantWorld) -> Caller:
    return Caller(Kind.OWNER, tenant.id, "a" * 15)


async def test_settings_apply_from_the_next_change_on(tenant: TenantWorld) -> None:
    records = tenant.world.parts.records
    posts, values = tenant.world.collection("posts"), {"title": "Post"}
    await records.create(owner_of(tenant), posts, values)
    await tenant.settings(read_only_mode=True)
    with pytest.raises(Forbidden):
        await records.create(owner_of(tenant), posts, values)
    await tenant.settings(read_only_mode=False)
    await records.create(owner_of(tenant), posts, values)


async def test_a_new_subscriber_is_found_after_none_was(tenant: TenantWorld) -> None:
    await tenant.published()
    await tenant.create("webhook_subscriptions", HOOK)
    await tenant.published(slug="second")
    assert await delivered(tenant) == ["post.published"]


async def test_a_subscription_in_the_same_unit_gets_the_event(tenant: TenantWorld) -> None:
    await tenant.published()
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.create(tenant.world.collection("webhook_subscriptions"), HOOK)
        post = {"title": "Post", "slug": "second", "status": "published"}
        await unit.create(tenant.world.collection("posts"), post)
    assert await delivered(tenant) == ["post.published"]


@TOGETHER
async def test_a_deletion_is_invisible_to_others_until_the_commit(
    tenant: TenantWorld, app: World
) -> None:
    records, hooks = app.parts.records, app.collection("webhook_subscriptions")
    hook = await tenant.create("webhook_subscriptions", HOOK)

    async def unsubscribe_and_fail() -> None:
        async with records.unit(system(tenant.id)) as unit:
            await unit.delete(hooks, hook["id"])
            post = {"title": "Post", "slug": "lost", "status": "published"}
            await unit.create(app.collection("posts"), post)
            await fail_at_commit(unit)

    failing = asyncio.create_task(unsubscribe_and_fail())
    # Two iterations of the event loop: the change is made, then it is being committed.
    for _ in range(2):
        await asyncio.sleep(0)
    await tenant.published(slug="kept")
    with pytest.raises(Unavailable):
        await failing
    assert await delivered(tenant) == ["post.published"]


@TOGETHER
async def test_a_rolled_back_version_is_not_cached_for_the_change_that_takes_it_next(
    app: World, tenant: TenantWorld
) -> None:
    """Changes that commit together see each other's settings, and fail together."""
    records, settings = app.parts.records, app.collection("site_settings")

    async def freeze_and_fail() -> None:
        async with records.unit(system(tenant.id)) as unit:
            (found,) = await unit.find(settings, {}, 1)
            await unit.update(settings, found["id"], {"read_only_mode": True})
            await fail_at_commit(unit)

    async def join() -> None:
        async with records.unit(owner_of(tenant)):
            pass

    outcomes = await asyncio.gather(freeze_and_fail(), join(), return_exceptions=True)
    assert [type(each) for each in outcomes] == [Unavailable, Unavailable]

    # Of another process, with the number that the freezing had.
    elsewhere = await build(app.parts.settings, app.clock)
    member = {"email": "new@example.com"}
    await elsewhere.records.create(system(tenant.id), app.collection("blog_members"), member)
    await elsewhere.close()
    await records.create(owner_of(tenant), app.collection("posts"), {"title": "Post"})


async def test_what_was_found_and_is_gone_is_not_found_again(tenant: TenantWorld) -> None:
    """A deleted tag is made again by the next post that names it, also in the same unit, and a
    deleted author is refused."""
    world = tenant.world
    records, posts, tags = world.parts.records, world.collection("posts"), world.collection("tags")
    accounts, service = world.collection("_superusers"), system(tenant.id)
    author = await tenant.create(
        "_superusers", {"email": "a@example.com", "password": "long enough 1", "role": "author"}
    )
    post = {"title": "Post", "tags": ["news"], "authors": [author["id"]]}

    async def tag_ids() -> list[str]:
        found = await records.find(tags, {"name": "news"}, tenant_id=tenant.id, limit=9)
        return [each["id"] for each in found]

    await records.create(service, posts, post)
    await records.create(service, posts, post)
    (first,) = await tag_ids()
    async with records.unit(service) as unit:
        await unit.by_service().delete(tags, first)
    await records.create(service, posts, post)
    (second,) = await tag_ids()
    async with records.unit(service) as unit:
        await unit.by_service().delete(tags, second)
        await unit.create(posts, post)
    (third,) = await tag_ids()
    assert len({first, second, third}) == 3

    await records.delete(service, accounts, author["id"])
    with pytest.raises(Invalid):
        await records.create(service, posts, post)
