"""Posts in the public API: fields, limits, states and events."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld, records_of

POSTS = "/api/v1/posts"
SUMMARY = {
    "id",
    "title",
    "slug",
    "url",
    "status",
    "visibility",
    "excerpt",
    "featured_image",
    "tags",
    "published_at",
    "scheduled_for",
    "created",
    "updated",
}
FULL = SUMMARY | {"content_html", "content_json", "seo_title", "seo_description"}


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def created(api: httpx.AsyncClient, **values: Any) -> dict[str, Any]:
    answer = await api.post(POSTS, json={"title": "Hello big world"} | values)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


class TestCreate:
    async def test_answers_exactly_the_documented_fields(self, api: httpx.AsyncClient) -> None:
        post = await created(api)
        assert post.keys() == FULL
        assert post["slug"] == "hello-big-world"
        assert post["status"] == "draft"
        assert post["tags"] == []
        assert post["content_html"] == ""
        assert post["visibility"] == "public"
        empty = {"excerpt", "featured_image", "published_at", "scheduled_for", "content_json"}
        for name in empty | {"seo_title", "seo_description"}:
            assert post[name] is None

    async def test_a_published_post_is_stamped(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await created(api, status="published")
        assert post["published_at"] == post["created"]
        assert await tenant.event_names() == ["post.created", "post.published"]

    async def test_slugs_are_numbered_on_collision(self, api: httpx.AsyncClient) -> None:
        slugs = [(await created(api))["slug"] for _ in range(4)]
        assert slugs == [
            "hello-big-world",
            "hello-big-world-2",
            "hello-big-world-3",
            "hello-big-world-4",
        ]

    async def test_a_supplied_slug_that_is_taken(self, api: httpx.AsyncClient) -> None:
        await created(api, slug="mine")
        answer = await api.post(POSTS, json={"title": "x", "slug": "mine"})
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {"slug"}

    async def test_unknown_fields_are_ignored(self, api: httpx.AsyncClient) -> None:
        post = await created(api, nonsense=1, id="abcdefghij12345")
        assert post["id"] != "abcdefghij12345"
        assert "nonsense" not in post

    @pytest.mark.parametrize("visibility", ["members", "paid"])
    async def test_a_post_sent_as_for_members_is_never_public(
        self, tenant: TenantWorld, api: httpx.AsyncClient, visibility: str
    ) -> None:
        picture = "https://example.com/lamp.jpg"
        post = await created(api, status="published", visibility=visibility, featured_image=picture)
        assert (post["visibility"], post["featured_image"]) == (visibility, picture)
        assert (await tenant.guest.get(records_of("posts", post["id"]))).status_code == 404
        listed = (await api.get(POSTS)).json()["items"][0]
        assert (listed["visibility"], listed["featured_image"]) == (visibility, picture)

    @pytest.mark.parametrize(
        ("field", "good", "bad"),
        [
            ("title", ["x", "x" * 255], ["", "x" * 256, None, 5, ["x"], "a\x00b"]),
            ("slug", ["x", "y" * 255], ["", "x" * 256, None, 5, "a b", "a/b"]),
            ("content_html", ["", "<p>x</p>"], [None, 5, {}]),
            ("content_json", [None, {"a": 1}, [], "text", 5], []),
            ("excerpt", ["", None, "x" * 500], ["x" * 501, 5]),
            ("status", ["draft", "published"], ["", "nope", None, 5, "Published"]),
            ("visibility", ["public", "members", "paid"], ["", "nope", None, 5, "Paid"]),
            (
                "featured_image",
                [None, "/media/a.png", "https://example.com/a.png"],
                ["", 5, "a.png", "javascript:alert(1)", "//example.com/a.png"],
            ),
            ("tags", [[], ["a"], ["a", "b"]], [None, "a", [1], [""], [None], {}]),
            ("seo_title", ["", None, "x" * 60], ["x" * 61, 5]),
            ("seo_description", ["", None, "x" * 160], ["x" * 161, 5]),
        ],
    )
    async def test_both_sides_of_each_boundary(
        self, api: httpx.AsyncClient, field: str, good: list[Any], bad: list[Any]
    ) -> None:
        for value in good:
            answer = await api.post(POSTS, json={"title": "x"} | {field: value})
            assert answer.status_code == 201, (value, answer.text)
        for value in bad:
            answer = await api.post(POSTS, json={"title": "x"} | {field: value})
            assert answer.status_code in (400, 422), (value, answer.text)
            if answer.status_code == 422:
                assert answer.json()["error"]["details"].keys() == {field}

    async def test_the_title_is_required(self, api: httpx.AsyncClient) -> None:
        answer = await api.post(POSTS, json={})
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {"title"}


class TestChange:
    @pytest.mark.parametrize("method", ["PATCH", "PUT"])
    async def test_only_given_fields_change(self, api: httpx.AsyncClient, method: str) -> None:
        post = await created(api, excerpt="short", tags=["a"])
        answer = await api.request(method, f"{POSTS}/{post['id']}", json={"title": "New"})
        assert answer.status_code == 200
        data = answer.json()["data"]
        assert data.keys() == FULL
        assert data["title"] == "New"
        assert data["slug"] == post["slug"]
        assert data["excerpt"] == "short"
        assert data["tags"] == ["a"]

    async def test_visibility_and_picture_change_and_stay(self, api: httpx.AsyncClient) -> None:
        post = await created(api, visibility="paid", featured_image="/media/a.png")
        path = f"{POSTS}/{post['id']}"
        kept = (await api.patch(path, json={"title": "New"})).json()["data"]
        assert (kept["visibility"], kept["featured_image"]) == ("paid", "/media/a.png")
        change = {"visibility": "members", "featured_image": None}
        changed = (await api.patch(path, json=change)).json()["data"]
        assert (changed["visibility"], changed["featured_image"]) == ("members", None)
        assert (await api.get(path)).json()["visibility"] == "members"

    async def test_the_two_texts_change_each_alone(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        document = {"type": "doc", "content": [{"type": "paragraph"}]}
        post = await created(api, content_json=document, content_html="<p>One</p>")
        path = f"{POSTS}/{post['id']}"
        html = (await api.patch(path, json={"content_html": "<p>Two</p>"})).json()["data"]
        assert (html["content_html"], html["content_json"]) == ("<p>Two</p>", document)
        other = (await api.patch(path, json={"content_json": {"ops": []}})).json()["data"]
        assert (other["content_html"], other["content_json"]) == ("<p>Two</p>", {"ops": []})
        owner = await tenant.owner()
        record = (await owner.api.get(records_of("posts", post["id"]))).json()
        assert record["content_source"] == "json"
        assert "content_source" not in other

    async def test_null_clears_nullable_fields(self, api: httpx.AsyncClient) -> None:
        post = await created(api, excerpt="short", seo_title="seo")
        answer = await api.patch(f"{POSTS}/{post['id']}", json={"excerpt": None, "seo_title": None})
        assert answer.json()["data"]["excerpt"] is None
        assert answer.json()["data"]["seo_title"] is None
        refused = await api.patch(f"{POSTS}/{post['id']}", json={"title": None})
        assert refused.status_code == 422

    async def test_an_empty_change_changes_nothing(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await created(api, status="published")
        before = await tenant.event_names()
        tenant.world.clock.advance(seconds=5)
        answer = await api.patch(f"{POSTS}/{post['id']}", json={})
        assert answer.status_code == 200
        assert answer.json()["data"] == post
        assert await tenant.event_names() == before

    async def test_published_at_is_set_kept_and_cleared(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        clock = tenant.world.clock
        post = await created(api)
        path = f"{POSTS}/{post['id']}"
        clock.advance(hours=1)
        published = (await api.patch(path, json={"status": "published"})).json()["data"]
        clock.advance(hours=1)
        edited = (await api.patch(path, json={"title": "Edited"})).json()["data"]
        assert edited["published_at"] == published["published_at"]
        clock.advance(hours=1)
        withdrawn = (await api.patch(path, json={"status": "draft"})).json()["data"]
        assert withdrawn["published_at"] is None
        clock.advance(hours=1)
        again = (await api.patch(path, json={"status": "published"})).json()["data"]
        assert again["published_at"] > published["published_at"]
        assert await tenant.event_names() == [
            "post.created",
            "post.published",
            "post.updated",
            "post.unpublished",
            "post.published",
        ]

    async def test_a_draft_is_edited_in_silence(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await created(api)
        await api.patch(f"{POSTS}/{post['id']}", json={"title": "New"})
        assert await tenant.event_names() == ["post.created"]


class TestDelete:
    async def test_is_for_good(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        post = await created(api)
        answer = await api.delete(f"{POSTS}/{post['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert (await api.get(f"{POSTS}/{post['id']}")).status_code == 404
        assert (await api.delete(f"{POSTS}/{post['id']}")).status_code == 404
        assert (await tenant.event_names())[-1] == "post.deleted"


class TestList:
    async def test_newest_first_with_exact_fields_and_totals(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        titles = [f"Post {number}" for number in range(7)]
        for title in titles:
            tenant.world.clock.advance(seconds=1)
            await created(api, title=title)
        answer = await api.get(POSTS, params={"per_page": 3})
        body = answer.json()
        assert body.keys() == {"items", "page", "per_page", "total", "total_pages"}
        assert [item["title"] for item in body["items"]] == ["Post 6", "Post 5", "Post 4"]
        assert (body["page"], body["per_page"], body["total"], body["total_pages"]) == (1, 3, 7, 3)
        assert all(item.keys() == SUMMARY for item in body["items"])
        last = (await api.get(POSTS, params={"per_page": 3, "page": 3})).json()
        assert [item["title"] for item in last["items"]] == ["Post 0"]

    async def test_defaults_and_the_empty_list(self, api: httpx.AsyncClient) -> None:
        body = (await api.get(POSTS)).json()
        assert body == {"items": [], "page": 1, "per_page": 20, "total": 0, "total_pages": 0}

    async def test_a_page_past_the_end(self, api: httpx.AsyncClient) -> None:
        await created(api)
        body = (await api.get(POSTS, params={"page": 99})).json()
        assert (body["items"], body["total"], body["total_pages"]) == ([], 1, 1)

    async def test_filters(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        await created(api, title="One", status="published", tags=["news", "a"])
        tenant.world.clock.advance(minutes=1)
        middle = tenant.world.clock().isoformat()
        tenant.world.clock.advance(minutes=1)
        await created(api, title="Two", tags=["news"])
        await created(api, title="Three", tags=["newsletter"])

        async def titles(**query: Any) -> set[str]:
            body = (await api.get(POSTS, params=query)).json()
            assert body["total"] == len(body["items"])
            return {item["title"] for item in body["items"]}

        assert await titles(status="published") == {"One"}
        assert await titles(status="draft") == {"Two", "Three"}
        assert await titles(tag="news") == {"One", "Two"}
        assert await titles(tag="news", status="draft") == {"Two"}
        assert await titles(updated_since=middle) == {"Two", "Three"}

    @pytest.mark.parametrize(
        "query",
        [
            "page=0",
            "page=-1",
            "page=x",
            "page=",
            "page=1e3",
            "per_page=0",
            "per_page=101",
            "per_page=x",
            "status=foo",
            "status=",
            "updated_since=yesterday",
            "cursor=nonsense",
            "page=99999999999999999999",
        ],
    )
    async def test_a_bad_parameter_is_named(self, api: httpx.AsyncClient, query: str) -> None:
        answer = await api.get(f"{POSTS}?{query}")
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {query.partition("=")[0]}

    async def test_cursors_return_every_post_once_while_posts_are_created(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        wanted = []
        for number in range(10):
            tenant.world.clock.advance(seconds=number % 2)
            wanted.append((await created(api, title=f"Post {number}"))["id"])
        seen: list[str] = []
        answer = await api.get(POSTS, params={"per_page": 3})
        seen += [item["id"] for item in answer.json()["items"]]
        following = answer.links["next-cursor"]["url"]
        while following:
            tenant.world.clock.advance(seconds=1)
            await created(api, title="Newcomer")
            answer = await api.get(following)
            seen += [item["id"] for item in answer.json()["items"]]
            following = answer.links.get("next-cursor", {}).get("url")
        assert sorted(seen) == sorted(wanted)
        assert len(seen) == len(set(seen))

    async def test_link_headers_lead_through_the_pages(self, api: httpx.AsyncClient) -> None:
        for _ in range(5):
            await created(api)
        answer = await api.get(POSTS, params={"per_page": 2, "page": 2, "status": "draft"})
        links = {rel: httpx.URL(link["url"]) for rel, link in answer.links.items()}
        assert links["first"].params["page"] == "1"
        assert links["prev"].params["page"] == "1"
        assert links["next"].params["page"] == "3"
        assert links["last"].params["page"] == "3"
        assert all(link.params["status"] == "draft" for link in links.values())
        ends = [await api.get(POSTS, params={"per_page": 2, "page": page}) for page in (1, 3)]
        assert [{rel for rel in answer.links if rel in ("prev", "next")} for answer in ends] == [
            {"next"},
            {"prev"},
        ]
