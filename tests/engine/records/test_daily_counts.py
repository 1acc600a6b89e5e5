"""Counts of days are written with the change that they count, and only those who may read all of a
collection get them."""

from __future__ import annotations

from datetime import timedelta

from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.engine.records.derived.daily_counts import RETENTION, ByDay, day_of
from masthead.features.members.collection import MEMBERS_JOINED, MEMBERS_LEFT, blog_members
from masthead.features.posts.collection import POSTS_PUBLISHED, posts
from masthead.identity.account_callers import account_caller
from masthead.identity.tenants import superusers

EVER = "0000-00-00"


async def caller_of(app: World, account: Account) -> Caller:
    (record,) = await app.parts.records.find(superusers, {"id": account.id})
    return account_caller(superusers, record)


async def published(app: World, account: Account, subject: str = "") -> ByDay:
    found = await app.parts.records.counts.by_day(
        await caller_of(app, account), posts, [POSTS_PUBLISHED], EVER, subjects=[subject]
    )
    return {day: count for day, count in found.get((POSTS_PUBLISHED, subject), {}).items() if count}


async def test_a_post_counts_on_the_day_of_its_publication_until_it_is_taken_back(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    today = day_of(app.clock())
    await tenant.post(title="A draft")
    first, second = [await tenant.published(title=each) for each in ("One", "Two")]
    await tenant.published(title="Imported", published_at="2024-02-29T23:59:59.000Z")
    assert await published(app, owner) == {today: 2, "2024-02-29": 1}
    await tenant.update("posts", first["id"], {"title": "Edited"})
    await tenant.update("posts", first["id"], {"status": "draft"})
    assert await published(app, owner) == {today: 1, "2024-02-29": 1}
    await tenant.update("posts", second["id"], {"published_at": "2024-02-29T00:00:00.000Z"})
    assert await published(app, owner) == {"2024-02-29": 2}
    answer = await owner.api.delete(records_of("posts", second["id"]))
    assert answer.status_code == 204
    assert await published(app, owner) == {"2024-02-29": 1}


async def test_a_refused_change_counts_nothing(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    answer = await owner.api.post(
        records_of("posts"), json={"title": "x", "status": "published", "slug": "not a slug"}
    )
    assert answer.status_code == 400
    assert await published(app, owner) == {}


async def test_an_author_gets_own_counts_alone(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    ada, bo = await tenant.owner(role="author"), await tenant.owner(role="author")
    today = day_of(app.clock())
    await tenant.published(authors=[ada.id])
    await tenant.published(authors=[ada.id, bo.id])
    assert await published(app, ada, ada.id) == {today: 2}
    assert await published(app, bo, bo.id) == {today: 1}
    assert await published(app, bo, ada.id) == {}
    assert await published(app, bo) == {}
    assert await published(app, owner, ada.id) == {today: 2}
    await owner.api.delete(records_of("_superusers", ada.id))
    assert await published(app, owner, ada.id) == {}
    assert await published(app, owner) == {today: 2}


async def test_another_tenant_has_counts_of_its_own(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, owner: Account
) -> None:
    await other_tenant.published()
    assert await published(app, owner) == {}
    stranger = await other_tenant.owner()
    assert await published(app, stranger) == {day_of(app.clock()): 1}


async def test_members_count_when_they_join_and_when_they_leave(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    joined = day_of(app.clock())
    leaving = await tenant.member()
    await tenant.member()
    app.clock.advance(hours=20)
    left = day_of(app.clock())
    answer = await owner.api.delete(records_of("blog_members", leaving.id))
    assert (answer.status_code, left > joined) == (204, True)
    metrics = [MEMBERS_JOINED, MEMBERS_LEFT]
    found = await app.parts.records.counts.by_day(
        await caller_of(app, owner), blog_members, metrics, EVER
    )
    assert found == {(MEMBERS_JOINED, ""): {joined: 2}, (MEMBERS_LEFT, ""): {left: 1}}
    later = await app.parts.records.counts.by_day(
        await caller_of(app, owner), blog_members, metrics, left
    )
    assert later == {(MEMBERS_JOINED, ""): {}, (MEMBERS_LEFT, ""): {left: 1}}


async def test_days_are_deleted_after_400_days(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    assert timedelta(days=400) == RETENTION
    now = app.clock()
    ages = (1, 399, 401, 2_000)
    for age in ages:
        at = clock.to_text(now - timedelta(days=age))
        await tenant.published(published_at=at)
    await app.parts.records.daily.sweep(now)
    kept = await published(app, owner)
    assert sorted(kept) == sorted(day_of(now - timedelta(days=age)) for age in ages[:2])
