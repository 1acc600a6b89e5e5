"""What changes remember of a tenant never outlives what it was read under."""

from __future__ import annotations

import asyncio

import pytest
from tests.world import TenantWorld, World

from masthead.app import build
from masthead.caller import Caller, Kind, system
from masthead.errors import Forbidden, Unavailable
from masthead.storage.database import Statement


def owner_of(tenant: TenantWorld) -> Caller:
    return Caller(Kind.OWNER, tenant.id, "a" * 15)


async def test_settings_hold_from_the_next_change_on(tenant: TenantWorld) -> None:
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
    webhook = {"name": "n", "url": "https://example.com/hook", "events": ["post.published"]}
    await tenant.create("webhook_subscriptions", webhook)
    await tenant.published(slug="second")

    found = await tenant.world.parts.records.find(
        tenant.world.collection("webhook_deliveries"), {}, tenant_id=tenant.id, limit=10
    )
    assert [delivery["event"] for delivery in found] == ["post.published"]


async def test_a_version_that_was_not_committed_is_not_taken_for_its_next_owner(
    app: World, tenant: TenantWorld
) -> None:
    """Changes that commit together see each other's settings, and fail together."""
    if app.engine != "sqlite":
        pytest.skip("only SQLite commits several changes together")
    records, settings = app.parts.records, app.collection("site_settings")

    async def freeze_and_fail() -> None:
        async with records.unit(system(tenant.id)) as unit:
            (found,) = await unit.find(settings, {}, 1)
            await unit.update(settings, found["id"], {"read_only_mode": True})
            # Lets the commit fail, as a full disk would.
            await unit.execute(Statement("PRAGMA defer_foreign_keys = ON", (), {}), {})
            await unit.execute(
                Statement("INSERT INTO pages (tenant_id, id) VALUES ('nobody', 'x')", (), {}), {}
            )

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
