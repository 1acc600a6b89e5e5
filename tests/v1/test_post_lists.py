"""`q` and `tag` on the list of posts."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

POSTS = "/api/v1/posts"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "posts:read", "posts:write")


async def listed(api: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await api.get(POSTS, params=query)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["total"] == len(body["items"])
    return [item["title"] for item in body["items"]]


async def test_words_of_title_excerpt_text_and_tags(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    await tenant.post(title="Lighthouse")
    await tenant.post(title="One", excerpt="The lighthouse")
    await tenant.post(title="Two", content_html='<p title="x">a <em>light</em>house</p>')
    await tenant.post(title="Three", tags=["lighthouse"])
    await tenant.post(title="Four", content_html='<a href="lighthouse">x</a>')
    assert await listed(api, q="lighthouse") == ["Three", "Two", "One", "Lighthouse"]


async def test_together_with_the_other_filters(api: httpx.AsyncClient, tenant: TenantWorld) -> None:
    await tenant.post(title="Old coast", tags=["sea"])
    since = (await tenant.published(title="New coast", tags=["sea", "news"]))["created"]
    await tenant.post(title="Newest coast", tags=["news"])
    assert await listed(api, q="coast", tag="sea") == ["New coast", "Old coast"]
    assert await listed(api, q="coast", status="published") == ["New coast"]
    assert await listed(api, q="coast", tag="news", status="draft") == ["Newest coast"]
    assert await listed(api, q="coast", updated_since=since) == ["Newest coast"]
    assert await listed(api, tag="nothing") == []


async def test_another_sites_posts_are_not_found(
    api: httpx.AsyncClient, other_tenant: TenantWorld
) -> None:
    await other_tenant.post(title="Their coast", tags=["sea"])
    assert await listed(api, q="coast") == []
    assert await listed(api, tag="sea") == []


@pytest.mark.parametrize("query", [{"q": "coast"}, {"tag": "sea"}, {"q": "coast", "tag": "sea"}])
async def test_cursors_visit_every_match_once(
    api: httpx.AsyncClient, tenant: TenantWorld, query: dict[str, str]
) -> None:
    expected: list[str] = []
    for number in range(7):
        expected.insert(0, (await tenant.post(title=f"Coast {number}", tags=["sea"]))["id"])
        await tenant.post(title="Other")
    answer = await api.get(POSTS, params={**query, "per_page": "3"})
    seen = [item["id"] for item in answer.json()["items"]]
    following: dict[str, str] | None = answer.links["next-cursor"]
    while following:
        await tenant.post(title="Coast that comes in", tags=["sea"])
        answer = await api.get(following["url"])
        seen += [item["id"] for item in answer.json()["items"]]
        following = answer.links.get("next-cursor")
    assert seen == expected


async def test_an_overlong_query_is_invalid(api: httpx.AsyncClient) -> None:
    assert await listed(api, q="é" * 200) == []
    answer = await api.get(POSTS, params={"q": "x" * 201})
    assert answer.status_code == 422
    assert "q" in str(answer.json()["error"]["details"])


async def test_a_change_is_seen_at_once(api: httpx.AsyncClient) -> None:
    made = (await api.post(POSTS, json={"title": "Draft of a coast", "tags": ["sea"]})).json()
    post_id = made["data"]["id"]
    assert await listed(api, q="coast") == await listed(api, tag="sea") == ["Draft of a coast"]
    await api.patch(f"{POSTS}/{post_id}", json={"title": "A hill", "tags": ["land"]})
    assert await listed(api, q="coast") == await listed(api, tag="sea") == []
    assert await listed(api, q='"a hill"') == await listed(api, tag="land") == ["A hill"]
    await api.delete(f"{POSTS}/{post_id}")
    assert await listed(api, q="hill") == await listed(api, tag="land") == []
