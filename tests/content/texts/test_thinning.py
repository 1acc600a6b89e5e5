"""The history of a text as it gets older: all of a day stay, one an hour for a week, one a day for
a year, and every text that was published."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.world import START, TenantWorld, World

from masthead.base import clock
from masthead.base.caller import system
from masthead.content.texts.thinning import handlers, thin_due
from masthead.engine.jobs.runner import Job
from masthead.engine.records.collection import Record
from masthead.features.posts.collection import post_revisions

pytestmark = pytest.mark.both_databases


@pytest.fixture
def now(app: World) -> Any:
    app.clock.moment = START
    return app.clock


async def stored(tenant: TenantWorld, post: Record, ages: list[timedelta], **values: str) -> None:
    """States that were saved, and replaced at once, so long ago."""
    app_clock = tenant.world.clock
    present = app_clock.moment
    for age in ages:
        app_clock.moment = present - age
        saved_at = clock.to_text(app_clock.moment)
        stamped = {
            "post_id": post["id"],
            "title": str(age),
            "saved_at": saved_at,
            "status": "draft",
        }
        await tenant.world.parts.records.create(
            system(tenant.id), post_revisions, {}, stamped={**stamped, "status": "draft", **values}
        )
    app_clock.moment = present


async def titles(tenant: TenantWorld, post: Record) -> set[str]:
    records = tenant.world.parts.records
    found = await records.find(
        post_revisions, {"post_id": post["id"]}, tenant_id=tenant.id, limit=1_000
    )
    return {each["title"] for each in found}


async def thin(tenant: TenantWorld) -> None:
    await thin_due(tenant.world.parts.records, (post_revisions,))


async def test_states_go_as_they_get_older(tenant: TenantWorld, now: Any) -> None:
    """The time is 09:30; every hour and every day has two of its own."""
    post, other = await tenant.post(), await tenant.post()
    fresh = [timedelta(minutes=number) for number in (5, 10, 60, 23 * 60)]
    # Within the hours that ended 2 and 3 days ago; the second of each is older.
    hourly = [timedelta(days=day, minutes=each) for day in (2, 3) for each in (10, 20)]
    daily = [timedelta(days=day, hours=each) for day in (30, 200) for each in (1, 5)]
    gone = [timedelta(days=366), timedelta(days=800)]
    ages = [*fresh, *hourly, *daily, *gone]
    await stored(tenant, post, ages)
    await stored(tenant, other, [timedelta(days=2, minutes=15)])
    await thin(tenant)
    kept = [*fresh, hourly[0], hourly[2], daily[0], daily[2]]
    assert await titles(tenant, post) == {str(each) for each in kept}
    assert len(await titles(tenant, other)) == 1
    # Nothing more goes until they are older.
    await thin(tenant)
    assert len(await titles(tenant, post)) == len(kept)


async def test_a_published_state_stays_and_keeps_no_other_from_staying(
    tenant: TenantWorld, now: Any
) -> None:
    post = await tenant.post()
    long_ago = [timedelta(days=900), timedelta(days=900, minutes=1), timedelta(days=2, minutes=5)]
    await stored(tenant, post, long_ago, status="published")
    await stored(tenant, post, [timedelta(days=2, minutes=20)])
    await thin(tenant)
    assert len(await titles(tenant, post)) == 4


async def test_every_age_is_reached_in_time(tenant: TenantWorld, now: Any) -> None:
    """Also a state that no run finds at the moment it is due."""
    post = await tenant.post()
    await stored(tenant, post, [timedelta(minutes=each) for each in (1, 11)])
    left = []
    for days in (0, 0.9, 0.5, 7, 300, 90):
        now.advance(days=days)
        await thin(tenant)
        left.append(len(await titles(tenant, post)))
    assert left == [2, 2, 1, 1, 1, 0]


async def test_the_last_state_of_an_old_draft_outlives_the_next_change(
    tenant: TenantWorld, now: Any
) -> None:
    post = await tenant.post(title="Begun")
    now.advance(days=500)
    await tenant.update("posts", post["id"], {"title": "Taken up again"})
    now.advance(days=30)
    await thin(tenant)
    assert await titles(tenant, post) == {"Begun"}


async def test_those_of_an_earlier_release_get_dates(tenant: TenantWorld, now: Any) -> None:
    post, records = await tenant.post(), tenant.world.parts.records
    await stored(tenant, post, [timedelta(days=400), timedelta(days=2)])
    await stored(tenant, post, [timedelta(days=401)], status="published")
    async with records.unit(system(tenant.id)) as unit:
        for each in await unit.find(post_revisions, {"post_id": post["id"]}, limit=9):
            await unit.stamp(post_revisions, each, {"thin_at": ""})
    await thin(tenant)
    assert len(await titles(tenant, post)) == 3
    job = Job(tenant.id, "a" * 15, "revisions.date", {}, 1)
    for _ in range(2):
        await handlers(records, (post_revisions,))[job.kind](job)
    await thin(tenant)
    assert len(await titles(tenant, post)) == 2
