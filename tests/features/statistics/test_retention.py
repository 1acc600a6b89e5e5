"""How long numbers stay, and that nothing of a reader does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.every_row import rows_of_tenant
from tests.features.statistics.site import LAPTOP, reader, stats, views
from tests.world import TenantWorld, World

from masthead.features.statistics.retention import LASTING, Retention

ADDRESS = "198.19.77.123"


def retention(app: World) -> Retention:
    return Retention(app.parts.database, app.clock)


async def all_rows(tenant: TenantWorld) -> dict[str, list[Any]]:
    return await rows_of_tenant(tenant.world.parts.database, tenant.id)


async def test_no_stored_value_holds_an_address_or_a_user_agent(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Fog")
    ann = reader(tenant, ADDRESS)
    for path in ("/", f"/posts/{post['slug']}?utm_source=letter"):
        await ann.get(path, headers={"referer": "https://news.example/"})
    assert await views(tenant) == (2, 1)
    stored = str(await all_rows(tenant))
    assert "news.example" in stored
    for secret in (ADDRESS, LAPTOP, "Firefox", "Gecko"):
        assert secret not in stored


async def test_readers_are_forgotten_an_hour_after_their_day(
    app: World, tenant: TenantWorld
) -> None:
    await reader(tenant).get("/")
    await app.parts.views.flush()
    app.clock.moment = app.clock().replace(hour=0, minute=59) + timedelta(days=1)
    await retention(app).forget_readers()
    stored = await all_rows(tenant)
    assert len(stored["day_salts"]) == 1
    assert len(stored["day_readers"]) == 3
    app.clock.advance(minutes=1)
    await retention(app).forget_readers()
    stored = await all_rows(tenant)
    assert not stored.get("day_salts")
    assert not stored.get("day_readers")
    assert (await stats(tenant, "2026-11-14"))["readers"] == 1


async def test_views_that_are_written_long_after_their_day_make_no_new_salt(
    app: World, tenant: TenantWorld
) -> None:
    await reader(tenant).get("/")
    app.clock.advance(days=2)
    found = await stats(tenant, "2026-11-14")
    assert (found["views"], found["readers"]) == (1, 0)
    assert not (await all_rows(tenant)).get("day_salts")


async def test_a_day_has_another_salt_than_the_one_before(app: World, tenant: TenantWorld) -> None:
    ann = reader(tenant)
    hashes = set()
    for _ in range(2):
        await ann.get("/")
        await app.parts.views.flush()
        hashes |= {row[2] for row in (await all_rows(tenant))["day_readers"]}
        app.clock.advance(days=1)
    assert len(hashes) == 2


@pytest.mark.both_databases
async def test_after_three_years_days_become_months_and_totals_stay(
    app: World, tenant: TenantWorld
) -> None:
    post = await tenant.published(title="Fog")
    days = [timedelta(days=3), timedelta(days=10), timedelta(days=30)]
    for later in days:
        await reader(tenant).get(f"/posts/{post['slug']}")
        await tenant.member()
        await app.parts.views.flush()
        app.clock.advance(days=later.days)
    span = ("2026-11-01", "2027-01-31")
    before = await stats(tenant, *span)
    app.clock.moment = app.clock.moment.replace(year=2029, month=12, day=31)
    await retention(app).add_up_months()
    months = await stats(tenant, *span)
    shown = {each["date"]: each["views"] for each in months["days"] if each["views"]}
    assert shown == {"2026-11-01": 3}
    for name in ("views", "readers", "joined"):
        assert months[name] == before[name] == 3
    await retention(app).add_up_months()
    assert await stats(tenant, *span) == months


@pytest.mark.both_databases
async def test_two_workers_at_once_add_up_once(app: World, tenant: TenantWorld) -> None:
    for _ in range(20):
        await reader(tenant).get("/")
        await app.parts.views.flush()
        app.clock.advance(days=3)
    span = ("2026-11-01", "2027-01-31")
    before = await stats(tenant, *span)
    app.clock.moment = app.clock.moment.replace(year=2030)
    await asyncio.gather(*(retention(app).add_up_months() for _ in range(4)))
    after = await stats(tenant, *span)
    assert (after["views"], after["readers"]) == (before["views"], before["readers"]) == (20, 20)


async def test_joined_and_paid_outlast_other_counts_of_days(
    app: World, tenant: TenantWorld
) -> None:
    await tenant.member()
    await tenant.published(title="Fog")
    app.clock.advance(days=500)
    await app.parts.records.daily.sweep(app.clock(), LASTING)
    kept = {row[1] for row in (await all_rows(tenant))["daily_counts"]}
    assert kept == {"members.joined"}


async def test_what_is_cleared_is_gone_and_counting_goes_on(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    for each in (tenant, other_tenant):
        await reader(each).get("/")
    await app.parts.views.flush()
    await retention(app).clear(tenant.id)
    assert await views(tenant) == (0, 0)
    assert await views(other_tenant) == (1, 1)
    await reader(tenant).get("/")
    assert await views(tenant) == (1, 1)
