"""`sort` and `url` on the lists of posts and pages."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

POSTS = "/api/v1/posts"
ORDERS = ("created", "published_at", "updated", "title")


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def walked(api: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    """All items by cursor, two at a time; also by page, which must be the same."""
    answer = await api.get(POSTS, params={**query, "per_page": "2"})
    assert answer.status_code == 200, answer.text
    by_cursor, by_page = list(answer.json()["items"]), list(answer.json()["items"])
    page, after = answer.links.get("next"), answer.links.get("next-cursor")
    while page:
        following = await api.get(page["url"])
        by_page += following.json()["items"]
        page = following.links.get("next")
    while after:
        following = await api.get(after["url"])
        assert following.status_code == 200, following.text
        by_cursor += following.json()["items"]
        after = following.links.get("next-cursor")
    assert by_cursor == by_page
    return by_cursor


@pytest.mark.both_databases
@pytest.mark.parametrize("field", ORDERS)
async def test_each_order_in_both_directions(
    tenant: TenantWorld, api: httpx.AsyncClient, field: str
) -> None:
    titles = ("delta", "Alpha", "charlie", "Émile", "bravo", "charlie", "100")
    made = [
        await tenant.post(title=title, status="draft" if number % 3 else "published")
        for number, title in enumerate(titles)
    ]
    await tenant.update("posts", made[2]["id"], {"excerpt": "Changed last"})
    up = await walked(api, sort=field)
    keys = [((each[field] or ""), each["id"]) for each in up]
    if field != "title":
        assert keys == sorted(keys)
    assert len(keys) == len(titles)
    assert [each["id"] for each in await walked(api, sort=f"-{field}")] == [
        each["id"] for each in reversed(up)
    ]
    drafts = await walked(api, sort=field, status="draft")
    assert [each["id"] for each in drafts] == [e["id"] for e in up if e["status"] == "draft"]


async def test_titles_are_in_the_order_of_the_admin(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    for title in ("b", "a", "c"):
        await tenant.post(title=title, tags=["sea"])
    assert [each["title"] for each in await walked(api, sort="title")] == ["a", "b", "c"]
    tagged = await walked(api, sort="-title", tag="sea")
    assert [each["title"] for each in tagged] == ["c", "b", "a"]


async def test_newest_first_is_the_usual_order(tenant: TenantWorld, api: httpx.AsyncClient) -> None:
    for _ in range(5):
        await tenant.post()
    assert await walked(api, sort="-created") == await walked(api)


async def test_a_cursor_of_another_order_is_refused(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    for _ in range(2):
        await tenant.post()
    for given, other in (
        ("title", "updated"),
        ("title", "-title"),
        ("title", None),
        (None, "title"),
    ):
        query: dict[str, Any] = {"per_page": 1, **({"sort": given} if given else {})}
        link = httpx.URL((await api.get(POSTS, params=query)).links["next-cursor"]["url"])
        wrong = link.copy_remove_param("sort")
        wrong = wrong.copy_set_param("sort", other) if other else wrong
        answer = await api.get(str(wrong))
        assert answer.status_code == 422, (given, other)
        assert answer.json()["error"]["details"].keys() == {"cursor"}


@pytest.mark.parametrize("sort", ["slug", "-", "+title", "title,created", "@random", "TITLE", ""])
async def test_any_other_order_is_refused(api: httpx.AsyncClient, sort: str) -> None:
    answer = await api.get(POSTS, params={"sort": sort})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"].keys() == {"sort"}


async def test_a_search_is_newest_first_and_says_so(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    for title in ("coast a", "coast b", "coast c"):
        await tenant.post(title=title)
    answer = await api.get(POSTS, params={"q": "coast", "sort": "title", "per_page": "2"})
    assert [each["title"] for each in answer.json()["items"]] == ["coast c", "coast b"]
    assert answer.headers["x-ignored"] == "sort"
    rest = await api.get(answer.links["next-cursor"]["url"])
    assert [each["title"] for each in rest.json()["items"]] == ["coast a"]


class TestUrl:
    async def test_it_is_there_while_everyone_can_open_the_post(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = (await api.post(POSTS, json={"title": "Grüße"})).json()["data"]
        path = f"{POSTS}/{post['id']}"
        assert post["url"] is None
        for body, has_one in (
            ({"status": "published"}, True),
            ({"visibility": "members"}, False),
            ({"visibility": "public", "slug": "grüße"}, True),
            ({"email_only": True}, False),
            ({"email_only": False}, True),
            ({"status": "draft"}, False),
        ):
            url = (await api.patch(path, json=body)).json()["data"]["url"]
            assert bool(url) == has_one, body
            assert (await api.get(path)).json()["url"] == url
            assert (await api.get(POSTS)).json()["items"][0]["url"] == url
            if has_one:
                assert url.startswith(f"http://{tenant.host}/posts/gr")
                assert (await tenant.guest.get(url)).status_code == 200

    async def test_it_appears_at_the_moment_of_publication(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.published(published_at="2999-01-01T00:00:00Z")
        path = f"{POSTS}/{post['id']}"
        for address in (path, POSTS):
            answer = await api.get(address)
            assert "etag" not in answer.headers
            assert (answer.json().get("items") or [answer.json()])[0]["url"] is None
        tenant.world.clock.advance(days=366 * 980)
        assert (await api.get(path)).json()["url"].endswith(f"/posts/{post['slug']}")
