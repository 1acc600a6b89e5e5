"""Texts that are sent as Markdown, and posts that are published later, in v1 and record store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.waiting import until
from tests.world import TenantWorld, records_of

from masthead.base import clock
from masthead.base.turns import WAITING_OF_SITE, working_for
from masthead.content.texts import content

POSTS = "/api/v1/posts"
MARKDOWN = "Hello *world*[^1]\n\n- [x] done\n\n[^1]: A note."
LATER = (datetime.now(UTC) + timedelta(days=900)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def created(api: httpx.AsyncClient, **values: Any) -> dict[str, Any]:
    answer = await api.post(POSTS, json={"title": "Hello"} | values)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def refused(answer: httpx.Response) -> dict[str, list[str]]:
    assert answer.status_code == 422, answer.text
    details: dict[str, list[str]] = answer.json()["error"]["details"]
    return details


class TestMarkdown:
    async def test_becomes_both_forms_of_the_text(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await created(api, content_markdown=MARKDOWN, status="published")
        assert "<em>world</em>" in post["content_html"]
        assert post["content_json"]["type"] == "doc"
        assert "content_markdown" not in post
        page = await tenant.guest.get(f"/posts/{post['slug']}")
        assert '<li id="fn-1">' in page.text
        assert 'href="#fn-1"' in page.text
        assert "checked" in page.text

    async def test_of_a_repeated_call_is_converted_once(self, api: httpx.AsyncClient) -> None:
        body = {"title": "Once", "content_markdown": MARKDOWN}
        answers = [
            await api.post(POSTS, json=body, headers={"idempotency-key": "k"}) for _ in range(2)
        ]
        assert answers[0].json() == answers[1].json()
        assert "<em>world</em>" in answers[0].json()["data"]["content_html"]

    @pytest.mark.parametrize("other", [{"content_html": ""}, {"content_json": None}])
    async def test_with_another_text_is_refused(
        self, api: httpx.AsyncClient, other: dict[str, Any]
    ) -> None:
        answer = await api.post(POSTS, json={"title": "x", "content_markdown": "y"} | other)
        assert (await refused(answer)).keys() == {"content_markdown"}

    @pytest.mark.parametrize("text", [None, 5, "x" * 300_001, ">" * 500])
    async def test_that_is_no_text_or_too_large_is_refused(
        self, api: httpx.AsyncClient, text: Any
    ) -> None:
        answer = await api.post(POSTS, json={"title": "x", "content_markdown": text})
        assert (await refused(answer)).keys() == {"content_markdown"}

    async def test_replaces_both_forms(self, api: httpx.AsyncClient) -> None:
        post = await created(api, content_html="<p>old</p>", content_json={"a": 1})
        path = f"{POSTS}/{post['id']}"
        changed = (await api.patch(path, json={"content_markdown": "new"})).json()["data"]
        assert changed["content_html"] == "<p>new</p>"
        assert changed["content_json"]["type"] == "doc"
        raw = (await api.patch(path, json={"content_markdown": "<kbd>k</kbd> x"})).json()["data"]
        assert raw["content_html"] == "<p><kbd>k</kbd> x</p>"
        assert raw["content_json"] is None

    @pytest.mark.parametrize("collection", ["posts", "pages"])
    async def test_in_the_record_store(self, tenant: TenantWorld, collection: str) -> None:
        body = {"title": "About us", "content_markdown": MARKDOWN}
        owner = (await tenant.owner()).api
        made = await owner.post(records_of(collection), json=body)
        assert made.status_code == 200, made.text
        assert "<em>world</em>" in made.json()["content_html"]
        path = records_of(collection, made.json()["id"])
        changed = await owner.patch(path, json={"content_markdown": "*new*"})
        assert changed.json()["content_html"] == "<p><em>new</em></p>"
        both = await owner.patch(path, json={"content_markdown": "", "content_html": ""})
        assert both.status_code == 400
        assert both.json()["data"].keys() == {"content_markdown"}


class TestSchedule:
    async def test_a_draft_with_a_date_is_shown_with_it(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await created(api, scheduled_for=LATER)
        assert (post["status"], post["scheduled_for"]) == ("draft", LATER)
        assert post["published_at"] is None
        listed = (await api.get(POSTS)).json()["items"][0]
        assert listed["scheduled_for"] == LATER
        cleared = await api.patch(f"{POSTS}/{post['id']}", json={"scheduled_for": None})
        assert cleared.json()["data"]["scheduled_for"] is None
        assert await tenant.event_names() == ["post.created"]

    @pytest.mark.parametrize("name", ["published_at", "scheduled_for"])
    async def test_published_with_a_date_to_come_is_refused_with_the_way(
        self, tenant: TenantWorld, api: httpx.AsyncClient, name: str
    ) -> None:
        body = {"title": "x", "status": "published", name: LATER}
        details = await refused(await api.post(POSTS, json=body))
        assert details.keys() == {name}
        assert "scheduled_for" in str(details[name])
        post = await created(api)
        assert (await api.patch(f"{POSTS}/{post['id']}", json=body)).status_code == 422
        assert await tenant.event_names() == ["post.created"]

    @pytest.mark.parametrize("status", ["draft", "published", None])
    async def test_a_time_in_the_past_is_refused(
        self, tenant: TenantWorld, api: httpx.AsyncClient, status: str | None
    ) -> None:
        past = {"scheduled_for": clock.to_text(tenant.world.clock() - timedelta(seconds=1))}
        body = {"title": "x", **past} | ({"status": status} if status else {})
        assert (await refused(await api.post(POSTS, json=body))).keys() == {"scheduled_for"}
        post = await created(api)
        path = f"{POSTS}/{post['id']}"
        assert (await refused(await api.patch(path, json=body))).keys() == {"scheduled_for"}
        stored = records_of("posts", post["id"])
        by_owner = await (await tenant.owner()).api.patch(stored, json=past)
        assert by_owner.status_code == 400
        assert by_owner.json()["data"].keys() == {"scheduled_for"}
        assert await tenant.event_names() == ["post.created"]

    async def test_a_time_that_has_come_may_be_sent_back_with_the_record(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        at = clock.to_text(tenant.world.clock() + timedelta(hours=1))
        post = await created(api, scheduled_for=at)
        tenant.world.clock.advance(hours=2)
        answer = await api.patch(f"{POSTS}/{post['id']}", json=post | {"title": "Late"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["data"]["scheduled_for"] == at

    async def test_scheduled_is_no_status_and_the_answer_names_the_field(
        self, api: httpx.AsyncClient
    ) -> None:
        details = await refused(await api.post(POSTS, json={"status": "scheduled"}))
        assert details.keys() == {"status", "title"}
        assert "`scheduled_for`" in details["status"][0]

    @pytest.mark.parametrize("moment", ["2001-01-01T00:00:00Z", "soon", 5, None, ""])
    async def test_any_other_date_of_publication_is_ignored(
        self, api: httpx.AsyncClient, moment: Any
    ) -> None:
        body = {"title": "x", "status": "published", "published_at": moment}
        answer = await api.post(POSTS, json=body)
        post = answer.json()["data"]
        assert post["published_at"] == post["created"]
        assert answer.headers["x-ignored"] == "published_at"

    async def test_a_published_post_is_not_scheduled_in_silence(
        self, api: httpx.AsyncClient
    ) -> None:
        post = await created(api, status="published")
        path = f"{POSTS}/{post['id']}"
        assert (await refused(await api.patch(path, json={"scheduled_for": LATER}))).keys() == {
            "scheduled_for"
        }
        both = await api.patch(path, json={"scheduled_for": LATER, "status": "draft"})
        assert both.json()["data"]["scheduled_for"] == LATER


async def test_long_texts_of_a_site_wait_in_turns_and_delay_no_other_site(
    tenant: TenantWorld, other_tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    long_text = "Some words. " * 200
    held = asyncio.Event()

    async def hold() -> None:
        """The turn of the site, as a text that takes long does."""
        working_for.set(tenant.id)
        async with content._turns.turn():
            await held.wait()

    holding = asyncio.create_task(hold())
    await asyncio.sleep(0)
    body = {"title": "Long", "content_markdown": long_text}
    waiting = [asyncio.create_task(api.post(POSTS, json=body)) for _ in range(WAITING_OF_SITE)]
    await until(lambda: len(content._turns._waiting.get(tenant.id, ())) == WAITING_OF_SITE)
    refused = await api.post(POSTS, json=body)
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert refused.headers["retry-after"] == "10"
    other = await key_client(other_tenant)
    assert (await other.post(POSTS, json=body)).status_code == 201
    assert not any(each.done() for each in waiting)
    held.set()
    await holding
    assert {each.status_code for each in await asyncio.gather(*waiting)} == {201}
