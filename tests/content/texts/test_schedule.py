"""Scheduled posts: published by the worker at their time, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock


async def schedule(app: World, owner: Account, post_id: str, **length: float) -> dict[str, Any]:
    moment = clock.to_text(app.clock() + timedelta(**length))
    path = records_of("posts", post_id)
    return dict((await owner.api.patch(path, json={"scheduled_for": moment})).json())


async def stored(tenant: TenantWorld, post_id: str) -> dict[str, Any]:
    return dict((await (await tenant.owner()).api.get(records_of("posts", post_id))).json())


async def test_a_scheduled_post_is_published_at_its_time(app: World, tenant: TenantWorld) -> None:
    post, owner = await tenant.post(), await tenant.owner()
    await schedule(app, owner, post["id"], hours=2)
    app.clock.advance(hours=1, minutes=59)
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["status"] == "draft"
    app.clock.advance(minutes=1)
    await run_jobs(app)
    now = await stored(tenant, post["id"])
    assert (now["status"], now["scheduled_for"]) == ("published", "")
    assert now["published_at"].replace(" ", "T") == clock.to_text(app.clock())
    await run_jobs(app)
    assert (await tenant.event_names()).count("post.published") == 1
    assert (await tenant.guest.get(f"/posts/{post['slug']}")).status_code == 200


async def test_after_a_downtime_it_is_published_late(app: World, tenant: TenantWorld) -> None:
    post = await tenant.post()
    await schedule(app, await tenant.owner(), post["id"], hours=2)
    app.clock.advance(days=3)
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["status"] == "published"


async def test_a_clock_that_is_put_back_publishes_nothing_early_and_forgets_nothing(
    app: World, tenant: TenantWorld
) -> None:
    post = await tenant.post()
    await schedule(app, await tenant.owner(), post["id"], hours=2)
    await run_jobs(app, ahead=timedelta(hours=2))
    assert (await stored(tenant, post["id"]))["status"] == "draft"
    app.clock.advance(hours=2)
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["status"] == "published"


async def test_another_time_or_none_counts(app: World, tenant: TenantWorld) -> None:
    later, never, owner = await tenant.post(), await tenant.post(), await tenant.owner()
    for post in (later, never):
        await schedule(app, owner, post["id"], hours=1)
    await schedule(app, owner, later["id"], hours=5)
    await owner.api.patch(records_of("posts", never["id"]), json={"scheduled_for": ""})
    app.clock.advance(hours=2)
    await run_jobs(app)
    for post in (later, never):
        assert (await stored(tenant, post["id"]))["status"] == "draft"
    app.clock.advance(hours=4)
    await run_jobs(app)
    assert (await stored(tenant, later["id"]))["status"] == "published"
    assert (await stored(tenant, never["id"]))["status"] == "draft"


async def test_a_post_that_is_published_by_hand_waits_for_nothing(
    app: World, tenant: TenantWorld
) -> None:
    post, owner = await tenant.post(), await tenant.owner()
    await schedule(app, owner, post["id"], hours=2)
    await owner.api.patch(records_of("posts", post["id"]), json={"status": "published"})
    assert (await stored(tenant, post["id"]))["scheduled_for"] == ""
    app.clock.advance(hours=3)
    await run_jobs(app)
    assert (await tenant.event_names()).count("post.published") == 1


async def test_guests_and_integrations_see_no_schedule(app: World, tenant: TenantWorld) -> None:
    post = await tenant.published()
    seen = (await tenant.guest.get(records_of("posts", post["id"]))).json()
    assert "scheduled_for" not in seen
    assert "edited_by" not in seen
