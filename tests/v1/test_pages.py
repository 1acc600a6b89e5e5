"""Pages in the public API: as posts, without what only posts have."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

PAGES = "/api/v1/pages"
SUMMARY = {
    *("id", "title", "slug", "url", "status", "excerpt", "featured_image", "published_at"),
    *("created", "updated"),
}
FULL = SUMMARY | {"content_html", "content_json", "seo_title", "seo_description"}


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "pages:read", "pages:write")


async def created(api: httpx.AsyncClient, **values: Any) -> dict[str, Any]:
    answer = await api.post(PAGES, json={"title": "About us"} | values)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_a_page_from_draft_to_the_trash(tenant: TenantWorld, api: httpx.AsyncClient) -> None:
    page = await created(api, content_markdown="We *write*.")
    assert page.keys() == FULL
    assert (page["slug"], page["status"], page["url"]) == ("about-us", "draft", None)
    assert page["content_json"]["type"] == "doc"
    path = f"{PAGES}/{page['id']}"
    changes = {"status": "published", "excerpt": "Who writes", "featured_image": "/media/x.png"}
    answer = await api.patch(path, json=changes)
    assert answer.status_code == 200, answer.text
    page = answer.json()["data"]
    assert (page["excerpt"], page["featured_image"]) == ("Who writes", "/media/x.png")
    assert page["url"] == f"http://{tenant.host}/about-us"
    assert page["published_at"]
    assert await tenant.event_names() == ["page.published"]
    assert (await tenant.guest.get(page["url"])).status_code == 200

    read = await api.get(path)
    assert read.json() == page
    again = await api.get(path, headers={"if-none-match": read.headers["etag"]})
    assert again.status_code == 304
    stale = await api.put(path, json={"title": "Nobody"}, headers={"if-match": '"1"'})
    assert stale.status_code == 412
    back = await api.put(path, json={"status": "draft", "excerpt": None})
    assert (back.json()["data"]["published_at"], back.json()["data"]["excerpt"]) == (None, None)

    assert (await api.delete(path)).status_code == 204
    assert (await api.get(path)).status_code == 404
    trash = await api.get("/api/v1/trash", params={"type": "pages"})
    assert [each["record_id"] for each in trash.json()["items"]] == [page["id"]]
    restored = await api.post(f"/api/v1/trash/{trash.json()['items'][0]['id']}/restore")
    assert restored.status_code == 200
    assert (await api.get(path)).status_code == 200


async def test_the_list_has_summaries_filters_and_the_search(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    await tenant.create("pages", {"title": "Imprint"})
    tenant.world.clock.advance(seconds=1)
    since = (await created(api, title="Contact", status="published"))["created"]
    tenant.world.clock.advance(seconds=1)
    await created(api, title="Colophon", content_html="<p>Set in a fine serif</p>")

    async def listed(**query: str) -> list[str]:
        body = (await api.get(PAGES, params=query)).json()
        assert all(item.keys() == SUMMARY for item in body["items"])
        return [item["title"] for item in body["items"]]

    assert await listed() == ["Colophon", "Contact", "Imprint"]
    assert await listed(status="published") == ["Contact"]
    assert await listed(q="serif") == ["Colophon"]
    assert await listed(updated_since=since) == ["Colophon"]
    assert await listed(sort="title") == ["Colophon", "Contact", "Imprint"]
    assert await listed(sort="-title", status="draft") == ["Imprint", "Colophon"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"status": "scheduled"}, "status"),
        ({"status": "published", "published_at": "2999-01-01T00:00:00Z"}, "published_at"),
        ({"status": "published", "scheduled_for": "2999-01-01T00:00:00Z"}, "scheduled_for"),
        ({"slug": "posts"}, "slug"),
        ({"seo_title": "x" * 61}, "seo_title"),
        ({"excerpt": "x" * 501}, "excerpt"),
        ({"featured_image": "javascript:alert(1)"}, "featured_image"),
        ({"title": ""}, "title"),
        ({"content_markdown": "x", "content_html": "x"}, "content_markdown"),
    ],
)
async def test_what_is_refused_is_named(
    api: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    page = await created(api)
    for answer in (
        await api.post(PAGES, json={"title": "x"} | body),
        await api.patch(f"{PAGES}/{page['id']}", json=body),
    ):
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["details"].keys() == {field}


async def test_what_only_posts_have_is_ignored_by_name(api: httpx.AsyncClient) -> None:
    answer = await api.post(PAGES, json={"title": "x", "tags": ["a"], "visibility": "paid"})
    assert (answer.status_code, answer.headers["x-ignored"]) == (201, "tags, visibility")


async def test_one_idempotency_key_makes_one_page(api: httpx.AsyncClient) -> None:
    headers = {"idempotency-key": "about"}
    first = await api.post(PAGES, json={"title": "About"}, headers=headers)
    second = await api.post(PAGES, json={"title": "About"}, headers=headers)
    assert second.headers["idempotent-replayed"] == "true"
    assert second.json() == first.json()


async def test_pages_have_scopes_of_their_own(tenant: TenantWorld) -> None:
    writer = await key_client(tenant, "pages:write", "posts:read", "posts:write")
    page = await created(writer)
    for answer in (await writer.get(PAGES), await writer.get(f"{PAGES}/{page['id']}")):
        assert answer.json()["error"]["code"] == "INVALID_SCOPE"
    reader = await key_client(tenant, "pages:read", "posts:write")
    assert (await reader.delete(f"{PAGES}/{page['id']}")).status_code == 403


async def test_readers_see_the_picture_and_the_excerpt_of_a_page(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    page = await created(
        api,
        status="published",
        excerpt="Who writes here",
        featured_image="https://pictures.example/us.jpg",
        seo_title="The people of the coast",
    )
    text = (await tenant.guest.get(page["url"])).text
    assert "<title>The people of the coast</title>" in text
    assert '<meta name="description" content="Who writes here">' in text
    assert '<p class="ex">Who writes here</p>' in text
    assert text.count("https://pictures.example/us.jpg") >= 2
