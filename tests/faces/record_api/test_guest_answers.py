"""Answers to guests from the cache: never stale, never another site's, never another audience's."""

from __future__ import annotations

import httpx
import pytest
from tests.features.factors.processes import second_process
from tests.features.media.test_uses import path_of, uploaded
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.counters import CACHES
from masthead.engine.records.read.due_dates import due_date
from masthead.service.schema import registry

POSTS = records_of("posts")
REPEATABLE = (
    "",
    "?page=1&perPage=5",
    "?skipTotal=1",
    "?filter=title ~ 'big'",
    "?filter=tags ?= 'news' || @request.auth.id = ''",
    "?sort=-title,created",
    "?fields=id,title:excerpt(3)",
)
READ_EACH_TIME = (
    "?expand=authors",
    "?sort=@random",
    "?filter=published_at <= @now",
    "?filter=created > @yearStart || title = 'x'",
    # Are counted: empty, and a search in long texts.
    "?filter=title = 'nothing'",
    "?filter=content_html !~ 'nothing'",
)


async def times_from_cache(api: httpx.AsyncClient, path: str, times: int = 2) -> int:
    """How many of some equal reads the cache has answered. A new shape of filter is compiled
    before, because such a list is counted and not cached."""
    await api.get(path)
    before = CACHES["records"].hits
    first, *others = [await api.get(path) for _ in range(times)]
    assert first.status_code == 200, first.text
    for each in others:
        same = (each.content, each.headers["content-type"], each.headers["cache-control"])
        assert same == (first.content, "application/json", "private, no-cache")
    return CACHES["records"].hits - before


async def titles(api: httpx.AsyncClient, path: str = POSTS) -> list[str]:
    answer = await api.get(path)
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    assert answer.json()["totalItems"] == len(items)
    return [each["title"] for each in items]


@pytest.mark.parametrize("query", REPEATABLE)
async def test_a_repeated_list_is_from_the_cache(tenant: TenantWorld, query: str) -> None:
    await tenant.published(tags=["news"])
    assert await times_from_cache(tenant.guest, POSTS + query, 3) >= 2


@pytest.mark.parametrize("query", READ_EACH_TIME)
async def test_a_list_that_depends_on_more_is_read_each_time(
    tenant: TenantWorld, query: str
) -> None:
    await tenant.published(content_html="<p>Text</p>")
    path = POSTS + query
    before = CACHES["records"].hits
    for _ in range(3):
        assert (await tenant.guest.get(path)).status_code == 200
    assert CACHES["records"].hits == before


async def test_a_repeated_view_is_from_the_cache(tenant: TenantWorld) -> None:
    post = await tenant.published()
    path = f"{POSTS}/{post['id']}"
    assert await times_from_cache(tenant.guest, path) == 2
    assert await times_from_cache(tenant.guest, f"{path}?fields=title") == 2
    assert await times_from_cache(tenant.guest, f"{path}?expand=authors") == 0
    tier = await tenant.create("tiers", {"name": "Gold", "price": 500, "currency": "eur"})
    assert await times_from_cache(tenant.guest, records_of("tiers", tier["id"])) == 2


async def test_the_next_read_sees_a_change(app: World, tenant: TenantWorld) -> None:
    post = await tenant.published(title="First")
    path = f"{POSTS}/{post['id']}"
    for title in ("Second", "Third"):
        assert (await tenant.guest.get(path)).status_code == 200
        await titles(tenant.guest)
        await tenant.update("posts", post["id"], {"title": title})
        assert (await tenant.guest.get(path)).json()["title"] == title
        assert await titles(tenant.guest) == [title]
    await tenant.update("posts", post["id"], {"status": "draft"})
    assert (await tenant.guest.get(path)).status_code == 404
    assert await titles(tenant.guest) == []


async def test_the_next_read_sees_a_change_of_another_process(
    app: World, tenant: TenantWorld
) -> None:
    post = await tenant.published(title="First")
    path = f"{POSTS}/{post['id']}"
    async with second_process(app) as other:
        apis = (tenant.guest, other.client(tenant.host))
        for api in apis:
            assert await times_from_cache(api, path) == 2
        for writer in (TenantWorld(other, tenant.id, tenant.slug), tenant):
            title = f"By {writer.world.parts.database.name} {id(writer)}"
            await writer.update("posts", post["id"], {"title": title})
            for api in apis:
                assert (await api.get(path)).json()["title"] == title
                assert await titles(api) == [title]


async def test_a_post_shows_at_its_time(app: World, tenant: TenantWorld) -> None:
    await tenant.published(title="Now")
    for days in (1, 2):
        at = app.clock.moment.replace(year=app.clock.moment.year + days)
        await tenant.published(title=f"Later {days}", published_at=at.isoformat())
    begin = app.clock.moment
    try:
        for expected in (["Now"], ["Later 1", "Now"], ["Later 2", "Later 1", "Now"]):
            assert await times_from_cache(tenant.guest, POSTS) >= 1
            assert await titles(tenant.guest) == expected
            app.clock.moment = app.clock.moment.replace(year=app.clock.moment.year + 1)
    finally:
        app.clock.moment = begin


async def test_sites_and_audiences_have_answers_of_their_own(
    tenant: TenantWorld, other_tenant: TenantWorld, owner: Account, member: Account
) -> None:
    post = await tenant.published(title="Public")
    await tenant.post(title="Draft")
    await other_tenant.published(title="Other")
    path = f"{POSTS}/{post['id']}"
    for _ in range(2):
        assert await titles(tenant.guest) == ["Public"]
        assert await titles(owner.api) == ["Draft", "Public"]
        assert await titles(member.api) == ["Public"]
        assert await titles(other_tenant.guest) == ["Other"]
        assert (await other_tenant.guest.get(path)).status_code == 404
        shown = [(await api.get(path)).json() for api in (tenant.guest, owner.api)]
        assert ["scheduled_for" in each for each in shown] == [False, True]
    assert await times_from_cache(owner.api, path) == 0
    assert await times_from_cache(member.api, path) == 0


async def test_the_bare_host_and_a_named_tenant(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    post = await tenant.published(title="Here")
    await other_tenant.published(title="There")
    bare = app.client()
    assert await times_from_cache(bare, f"{POSTS}/{post['id']}") == 0
    for each, title in ((tenant, "Here"), (other_tenant, "There"), (tenant, "Here")):
        answer = await bare.get(POSTS, headers={"x-tenant-id": each.id})
        assert [item["title"] for item in answer.json()["items"]] == [title]


async def test_a_suspended_site_is_closed_at_once(tenant: TenantWorld) -> None:
    post = await tenant.published()
    path = f"{POSTS}/{post['id']}"
    assert await times_from_cache(tenant.guest, path) == 2
    await tenant.update("tenants", tenant.id, {"status": "suspended"})
    for each in (path, POSTS):
        assert (await tenant.guest.get(each)).status_code == 403
    await tenant.update("tenants", tenant.id, {"status": "active"})
    assert (await tenant.guest.get(path)).status_code == 200


async def test_a_file_that_becomes_private_is_not_named_any_more(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner)
    html = f'<p>Text <img src="{path_of(item)}"></p>'
    post = await tenant.published(content_html=html)
    path = f"{POSTS}/{post['id']}"
    for is_private in (False, True, False):
        await tenant.update("media", item["id"], {"private": is_private})
        for each in (path, POSTS):
            assert await times_from_cache(tenant.guest, each) == 2
            assert (item["id"] in (await tenant.guest.get(each)).text) is not is_private


@pytest.mark.parametrize(
    ("rule", "date"),
    [
        ("", ""),
        ("active = true", ""),
        ("@request.auth.id = id && @request.auth.collectionName = 'x'", ""),
        ("status = 'a' && published_at <= @now", "published_at"),
        ("(status = 'a' || title != '') && published_at <= @now", "published_at"),
        ("published_at <= @now && created <= @now", None),
        ("published_at <= @now || status = 'a'", None),
        ("published_at >= @now", None),
        ("published_at <= @todayEnd", None),
        ("published_at.x <= @now", None),
        ("author.name = 'x'", None),
        ("@collection.posts.id = id", None),
        ("geoDistance(1, 2, 3, 4) < 5", None),
    ],
)
def test_what_a_rule_depends_on(rule: str, date: str | None) -> None:
    assert due_date(rule) == date


def test_the_answers_of_every_collection_that_guests_can_read_are_cached() -> None:
    for each in registry.collections:
        if each.rules.read is not None:
            date = due_date(each.rules.read)
            assert date is not None
            assert not date or any(index.only_late == date for index in each.indexes)
