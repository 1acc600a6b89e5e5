"""Batched inserts are atomic and emit events like any other."""

from __future__ import annotations

import pytest
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.write.record_rows import INSERT_BATCH
from masthead.storage.database import UniqueViolation

COUNT = INSERT_BATCH + 3


async def titles(tenant: TenantWorld) -> list[str]:
    posts = tenant.world.collection("posts")
    found = await tenant.world.parts.records.find(posts, {}, tenant_id=tenant.id, limit=COUNT + 1)
    return sorted(post["title"] for post in found)


async def test_all_are_inserted_at_the_end_of_the_block(tenant: TenantWorld) -> None:
    posts = tenant.world.collection("posts")
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        async with unit.batched_inserts():
            for number in range(COUNT):
                values = {"title": f"{number:04}", "slug": f"p-{number}", "status": "published"}
                made = await unit.create(posts, values)
        assert await unit.find(posts, {"id": made["id"]}, limit=1) == [made]
        await unit.create(posts, {"title": "by itself"})
    assert await titles(tenant) == [*(f"{number:04}" for number in range(COUNT)), "by itself"]
    assert (await tenant.event_names()).count("post.published") == COUNT


async def write_twice(tenant: TenantWorld) -> None:
    posts = tenant.world.collection("posts")
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.create(posts, {"title": "before"})
        async with unit.batched_inserts():
            for _ in range(2):
                await unit.create(posts, {"title": "twice", "slug": "same"})


async def test_a_constraint_violation_ends_the_unit(tenant: TenantWorld) -> None:
    with pytest.raises(UniqueViolation):
        await write_twice(tenant)
    assert await titles(tenant) == []
