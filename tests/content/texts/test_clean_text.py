"""HTML is stored as it was sent; readers get the clean text, which is made when it is saved."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.content.html.test_clean_texts import BOMBS
from tests.content.texts.test_editing import Desk, staff
from tests.features.privacy.requests import run_jobs
from tests.v1.keys import key_client
from tests.world import TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.base.errors import Invalid
from masthead.content.html.clean_texts import RULES
from masthead.service.schema import tables
from masthead.storage.database import scope_of

SENT = '<p onclick="evil()">Seen</p><script>hidden()</script><!-- note to myself -->'
CLEAN = "<p>Seen</p>"
BOMB = BOMBS["formatting that each paragraph repeats"]


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def stored(tenant: TenantWorld, post_id: str) -> dict[str, Any]:
    records = tenant.world.parts.records
    found = await records.find(
        tenant.world.collection("posts"), {"id": post_id}, tenant_id=tenant.id
    )
    return found[0]


async def change_row(tenant: TenantWorld, post_id: str, **values: Any) -> None:
    """As an earlier release has left the row."""
    table = tables["posts"]
    database = tenant.world.parts.database
    where = sa.and_(
        table.c.tenant_id == sa.bindparam("of_tenant"), table.c.id == sa.bindparam("of_id")
    )
    statement = database.compile(
        sa.update(table).where(where).values({name: sa.bindparam(name) for name in values})
    )
    bound = statement.bind({**values, "of_tenant": tenant.id, "of_id": post_id})
    async with database.transaction(scope_of(tenant.id)) as tx:
        await tx.execute(statement, bound)


async def text_of_page(tenant: TenantWorld, path: str) -> str:
    answer = await tenant.guest.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return answer.text


async def as_guest(tenant: TenantWorld, post_id: str, **query: str) -> dict[str, Any]:
    answer = await tenant.guest.get(records_of("posts", post_id), params=query)
    assert answer.status_code == 200, answer.text
    record: dict[str, Any] = answer.json()
    return record


class TestWhoGetsWhat:
    async def test_keys_and_staff_get_what_was_sent(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        made = (await api.post("/api/v1/posts", json=_post(content_html=SENT))).json()["data"]
        assert made["content_html"] == SENT
        seen = (await api.get(f"/api/v1/posts/{made['id']}")).json()
        assert seen["content_html"] == SENT
        owner = await tenant.owner()
        author = await tenant.owner(role="author")
        await tenant.update("posts", made["id"], {"authors": [author.id]})
        for account in (owner, author):
            record = (await account.api.get(records_of("posts", made["id"]))).json()
            assert record["content_html"] == SENT
            assert not record.keys() & {"content_clean", "clean_rules"}

    async def test_guests_and_members_get_the_clean_text(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html=SENT)
        member = await tenant.member()
        for client in (tenant.guest, member.api):
            for path in (records_of("posts", post["id"]), f"{records_of('posts')}?fields=*"):
                answer = (await client.get(path)).json()
                record = answer["items"][0] if "items" in answer else answer
                assert record["content_html"] == CLEAN
                assert not record.keys() & {"content_clean", "clean_rules"}
        short = await as_guest(tenant, post["id"], fields="content_html:excerpt(100)")
        assert short["content_html"] == "Seen"

    async def test_no_filter_and_no_order_tells_readers_what_they_do_not_get(
        self, tenant: TenantWorld
    ) -> None:
        await tenant.published(title="One", content_html=SENT)
        await tenant.published(title="Two", content_html="<p>hidden in plain sight</p>")

        async def found(client: httpx.AsyncClient, wanted: str) -> list[str]:
            answer = await client.get(records_of("posts"), params={"filter": wanted})
            return sorted(each["title"] for each in answer.json()["items"])

        owner = await tenant.owner()
        for wanted in ("content_html ~ 'hidden'", "content_html ~ '%hidden%'"):
            assert await found(tenant.guest, wanted) == ["Two"]
            assert await found(owner.api, wanted) == ["One", "Two"]
        assert await found(tenant.guest, f"content_html = '{CLEAN}'") == ["One"]

    async def test_a_related_post_is_clean_as_well(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html=SENT)
        await tenant.create(
            "comments",
            {"post_id": post["id"], "body": "x", "author_name": "A", "status": "approved"},
        )
        answer = await tenant.guest.get(records_of("comments"), params={"expand": "post_id"})
        for each in answer.json().get("items", []):
            assert each["expand"]["post_id"]["content_html"] == CLEAN

    async def test_pages_and_feeds_show_the_clean_text(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Text", content_html=SENT)
        await tenant.create(
            "pages", {"title": "About", "status": "published", "content_html": SENT}
        )
        for path in ("/posts/text", "/about"):
            page = await text_of_page(tenant, path)
            assert CLEAN in page
            assert "hidden()" not in page
        feed = (await tenant.guest.get("/feed.json")).json()
        assert feed["items"][0]["content_html"] == CLEAN


class TestWhenItIsMade:
    async def test_a_page_shows_what_is_stored_and_cleans_nothing(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Text", content_html=SENT)
        await change_row(tenant, post["id"], content_clean="<p>From the store</p>")
        assert "<p>From the store</p>" in await text_of_page(tenant, "/posts/text")
        assert (await as_guest(tenant, post["id"]))["content_html"] == "<p>From the store</p>"

    async def test_a_text_that_is_clean_already_is_stored_once(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html=CLEAN)
        row = await stored(tenant, post["id"])
        assert (row["content_clean"], row["clean_rules"]) == ("", RULES)
        assert (await as_guest(tenant, post["id"]))["content_html"] == CLEAN

    async def test_a_text_of_which_nothing_is_left_shows_nothing(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html="<script>hidden()</script>")
        assert (await as_guest(tenant, post["id"]))["content_html"].strip() == ""

    async def test_each_change_of_the_text_makes_it_anew(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.published(content_html=CLEAN)
        path = f"/api/v1/posts/{post['id']}"
        await api.patch(path, json={"content_html": "<p>New</p><script>x</script>"})
        assert (await as_guest(tenant, post["id"]))["content_html"] == "<p>New</p>"
        await api.patch(path, json={"title": "Other"})
        assert (await as_guest(tenant, post["id"]))["content_html"] == "<p>New</p>"
        owner = await tenant.owner()
        answer = await owner.api.patch(records_of("posts", post["id"]), json={"content_html": SENT})
        assert answer.status_code == 200
        assert (await as_guest(tenant, post["id"]))["content_html"] == CLEAN

    async def test_a_call_with_an_idempotency_key_as_well(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        body = _post(content_html=SENT * 200)
        answer = await api.post("/api/v1/posts", json=body, headers={"idempotency-key": "one"})
        assert answer.status_code == 201
        made = answer.json()["data"]
        assert (await as_guest(tenant, made["id"]))["content_html"] == CLEAN * 200

    async def test_an_editors_text_goes_live_clean(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html="<p>Old</p>")
        owner = await tenant.owner()
        desk = Desk(tenant, staff(tenant, owner), post["id"])
        await desk.open()
        await desk.save(content_html=SENT)
        assert (await as_guest(tenant, post["id"]))["content_html"] == "<p>Old</p>"
        await desk.put_live()
        assert (await as_guest(tenant, post["id"]))["content_html"] == CLEAN
        assert (await stored(tenant, post["id"]))["content_html"] == SENT

    async def test_an_editors_document_goes_live_clean(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html="<p>Old</p>")
        desk = Desk(tenant, staff(tenant, await tenant.owner()), post["id"])
        await desk.open()
        link = {"type": "link", "attrs": {"href": "/x"}}
        text = {"type": "text", "text": "Typed", "marks": [link]}
        paragraph = {"type": "paragraph", "content": [text]}
        await desk.save(content_json={"type": "doc", "content": [paragraph]})
        await desk.put_live()
        assert (await as_guest(tenant, post["id"]))["content_html"] == (
            '<p><a href="/x">Typed</a></p>'
        )


class TestLimits:
    async def test_a_costly_text_is_refused_with_the_reason(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        answer = await api.post("/api/v1/posts", json=_post(content_html=BOMB))
        assert answer.status_code == 422
        assert "is not closed" in str(answer.json())
        assert "content_html" in str(answer.json())
        owner = await tenant.owner()
        refused = await owner.api.post(records_of("posts"), json=_post(content_html=BOMB))
        assert refused.status_code == 400
        assert "is not closed" in refused.json()["data"]["content_html"]["message"]
        assert (await api.get("/api/v1/posts")).json()["total"] == 0

    async def test_a_change_to_it_leaves_the_text(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.published(content_html=CLEAN)
        answer = await api.patch(f"/api/v1/posts/{post['id']}", json={"content_html": BOMB})
        assert answer.status_code == 422
        assert (await stored(tenant, post["id"]))["content_html"] == CLEAN

    async def test_an_editor_is_told_when_it_is_saved(self, tenant: TenantWorld) -> None:
        post = await tenant.published(content_html=CLEAN)
        desk = Desk(tenant, staff(tenant, await tenant.owner()), post["id"])
        await desk.open()
        with pytest.raises(Invalid):
            await desk.save(content_html=BOMB)


class TestOlderTexts:
    """Rows of before there was a clean text, or of before other rules."""

    @pytest.fixture
    async def old(self, tenant: TenantWorld) -> dict[str, Any]:
        post = await tenant.published(title="Text", content_html="<p>x</p>")
        await change_row(tenant, post["id"], content_html=SENT, content_clean="", clean_rules=0)
        return post

    async def test_are_clean_for_readers_at_once(
        self, tenant: TenantWorld, old: dict[str, Any]
    ) -> None:
        assert (await as_guest(tenant, old["id"]))["content_html"] == CLEAN
        page = await text_of_page(tenant, "/posts/text")
        assert CLEAN in page
        assert "hidden()" not in page

    async def test_are_cleaned_by_the_worker_without_an_event(
        self, tenant: TenantWorld, app: World, old: dict[str, Any]
    ) -> None:
        before = await stored(tenant, old["id"])
        told = await tenant.event_names()
        async with app.parts.records.unit(system(tenant.id)) as unit:
            await unit.enqueue("texts.clean", {})
        await run_jobs(app)
        after = await stored(tenant, old["id"])
        assert (after["content_clean"], after["clean_rules"]) == (CLEAN, RULES)
        assert after["version"] == before["version"]
        assert after["updated"] == before["updated"]
        assert await tenant.event_names() == told

    async def test_of_those_beyond_the_limits_the_words_are_shown(
        self, tenant: TenantWorld, app: World, old: dict[str, Any]
    ) -> None:
        await change_row(tenant, old["id"], content_html=BOMB + "<p>The end</p>")
        for _ in range(2):
            page = await text_of_page(tenant, "/posts/text")
            assert "The end" in page
            assert "<b id" not in page
            async with app.parts.records.unit(system(tenant.id)) as unit:
                await unit.enqueue("texts.clean", {})
            await run_jobs(app)


class TestPaywall:
    @pytest.mark.parametrize(
        "marker", ["<!--more-->", '<hr class="paywall">', "<!-- More here -->"]
    )
    async def test_its_place_outlives_the_cleaning(self, tenant: TenantWorld, marker: str) -> None:
        await tenant.published(
            title="Paid",
            visibility="paid",
            content_html=f"<div><p>For all</p>{marker}<p>Secret</p></div><script>x</script>",
        )
        page = await text_of_page(tenant, "/posts/paid")
        assert "<div><p>For all</p></div>" in page
        assert "Secret" not in page

    async def test_nothing_of_it_shows_in_an_open_post(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Open", content_html="<p>One <!--more--> two</p>")
        assert "<p>One  two</p>" in await text_of_page(tenant, "/posts/open")


def _post(**values: Any) -> dict[str, Any]:
    return {"title": "Text", "status": "published"} | values
