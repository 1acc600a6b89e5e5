"""The list of posts: what it finds, in which order, and what is done with many at once."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import pytest
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.faces.admin.lists import PER_PAGE
from masthead.features.mailings.collection import mailings

HTMX = {"hx-request": "true"}


def titles_in(page: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<a class="title" href="[^"]*">([^<]*)', page)]


def link_in(page: str, label: str) -> str:
    found = re.search(rf'<a class="btn btn-s" href="([^"]*)"[^>]*>(?:<svg.*?</svg>)?{label}', page)
    return unescape(found[1]) if found else ""


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def shown(browser: Visitor, address: str) -> list[str]:
    answer = await browser.get(address)
    assert answer.status_code == 200, answer.text
    return titles_in(answer.text)


class TestList:
    async def test_a_first_visit_says_what_to_do(self, browser: Visitor) -> None:
        page = (await browser.get("/admin/posts")).text
        assert "Write the first post" in page

    async def test_a_change_that_is_not_live_is_said(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await tenant.published(title="Tides")
        await tenant.published(title="Fog")
        await tenant.create("post_working_copies", {"post_id": post["id"], "title": "Tide tables"})
        page = (await browser.get("/admin/posts")).text
        assert page.count("Changed, not live") == 1
        row = page[page.index(">Tides<") :]
        assert "Changed, not live" in row[: row.index("</tr>")]
        assert "Changed, not live" in (await browser.get(f"/admin/posts/{post['id']}")).text

    async def test_filters_and_orders(self, tenant: TenantWorld, browser: Visitor) -> None:
        nell = await tenant.owner(name="Tobias Wren", role="author")
        await tenant.post(title="Bread", tags=["food"], authors=[nell.id])
        await tenant.published(title="Apples", visibility="paid", tags=["food", "fruit"])
        await tenant.published(title="Tides", published_at="2030-01-01T00:00:00Z")
        await tenant.published(title="Cider", visibility="members", content_html="<p>of apples</p>")
        await tenant.post(title="Later", scheduled_for="2030-01-02T00:00:00Z", visibility="members")
        everything = ["Later", "Cider", "Tides", "Apples", "Bread"]
        assert await shown(browser, "/admin/posts") == everything
        for query, found in (
            ("status=draft", ["Later", "Bread"]),
            ("status=published", ["Cider", "Tides", "Apples"]),
            ("status=scheduled", ["Later"]),
            ("visibility=paid", ["Apples"]),
            ("tag=food", ["Apples", "Bread"]),
            ("tag=food&status=draft", ["Bread"]),
            (f"author={nell.id}", ["Bread"]),
            ("q=apples", ["Cider", "Apples"]),
            ("q=apples&visibility=members", ["Cider"]),
            ("q=apples&tag=fruit", ["Apples"]),
            ("q=apples&tag=none", []),
            (f"author={nell.id}&status=draft", ["Bread"]),
            (f"author={nell.id}&status=published", []),
            (f"author={nell.id}&tag=food", ["Bread"]),
            (f"author={nell.id}&tag=fruit", []),
            (f"author={nell.id}&tag=food&status=draft&visibility=public", ["Bread"]),
            ("status=draft&visibility=members", ["Later"]),
            ("visibility=public&sort=changed", ["Bread", "Tides"]),
            # In the order of titles only what no filter narrows.
            ("status=published&sort=title", ["Cider", "Tides", "Apples"]),
            ("sort=title", ["Apples", "Bread", "Cider", "Later", "Tides"]),
            ("sort=-title", ["Tides", "Later", "Cider", "Bread", "Apples"]),
            ("sort=changed", everything[::-1]),
            ("status=nonsense&visibility=x&sort=random&q=", everything),
        ):
            assert (query, await shown(browser, f"/admin/posts?{query}")) == (query, found)
        page = (await browser.get("/admin/posts?tag=none")).text
        assert "No post matches" in page
        assert "Clear filters" in page
        assert re.findall(r'<option value="(\w+)" ?>\1<', page) == ["food", "fruit"]

    @pytest.mark.parametrize("by", ["tag=fog", "author", "visibility=public", "own"])
    async def test_drafts_come_page_by_page_among_published_posts(
        self, tenant: TenantWorld, browser: Visitor, by: str
    ) -> None:
        own, author = await staff(tenant, "author")
        for number in range(2 * (PER_PAGE + 2)):
            status = "draft" if number % 2 else "published"
            await tenant.post(title=f"P{number}", status=status, tags=["fog"], authors=[author.id])
        reader = own if by == "own" else browser
        query = {"author": f"author={author.id}", "own": ""}.get(by, by)
        page = (await reader.get(f"/admin/posts?status=draft&{query}")).text
        expected = [f"P{number}" for number in range(2 * PER_PAGE + 3, 0, -2)]
        assert titles_in(page) == expected[:PER_PAGE]
        older = (await reader.get(link_in(page, "Older"))).text
        assert titles_in(older) == expected[PER_PAGE:]

    async def test_one_of_many_tags_is_typed(self, tenant: TenantWorld, browser: Visitor) -> None:
        for number in range(3):
            tags = [f"tag {number}{each:02}" for each in range(70)]
            await tenant.post(title=f"P{number}", tags=tags)
        page = (await browser.get("/admin/posts?tag=tag+105")).text
        assert titles_in(page) == ["P1"]
        assert '<option value="tag' not in page
        assert 'hx-get="/admin/posts/tags"' in page
        assert 'name="tag" value="tag 105"' in page
        for typed, first, count in (("tag 2", "tag 200", 20), ("tag 105", "tag 105", 1)):
            found = (await browser.get(f"/admin/posts/tags?tag={typed}", **HTMX)).text
            options = re.findall(r'<option value="([^"]*)">', found)
            assert (options[0], len(options)) == (first, count)
        assert "<option" not in (await browser.get("/admin/posts/tags?tag=zzz", **HTMX)).text
        assert (await browser.get("/admin/posts/tags?tag=%00", **HTMX)).status_code == 200
        asks = 'data-suggestions="/admin/posts/tags"'
        assert asks in (await browser.get("/admin/posts/new")).text
        author, _ = await staff(tenant, "author")
        assert "<option" not in (await author.get("/admin/posts/tags?tag=tag", **HTMX)).text

    @pytest.mark.parametrize("sort", ["-changed", "changed", "title", "-title"])
    async def test_pages_by_cursor_lead_there_and_back(
        self, tenant: TenantWorld, browser: Visitor, sort: str
    ) -> None:
        for number in range(2 * PER_PAGE + 3):
            # Many titles are the same: the cursor goes on by id.
            await tenant.post(title=f"Post {number // 30:02} ~ä&")
        seen, pages = [], []
        address = f"/admin/posts?sort={sort}"
        while address:
            page = (await browser.get(address)).text
            pages.append(titles_in(page))
            seen += re.findall(r'name="select\.(\w+)"', page)
            address, last = link_in(page, "Older"), page
        assert [len(each) for each in pages] == [PER_PAGE, PER_PAGE, 3]
        assert len(set(seen)) == 2 * PER_PAGE + 3
        assert f"{2 * PER_PAGE + 1}–{2 * PER_PAGE + 3} of {2 * PER_PAGE + 3}" in last
        back = (await browser.get(link_in(last, "Newer"))).text
        assert re.findall(r'name="select\.(\w+)"', back) == seen[PER_PAGE : 2 * PER_PAGE]
        assert f"{PER_PAGE + 1}–{2 * PER_PAGE} of" in back
        first = await browser.get(link_in(back, "Newer"))
        if first.status_code == 303:
            first = await browser.get(first.headers["location"])
        assert re.findall(r'name="select\.(\w+)"', first.text) == seen[:PER_PAGE]

    async def test_scheduled_posts_come_by_their_time(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for number in range(PER_PAGE + 2):
            await tenant.post(title=f"P{number}", scheduled_for=f"2030-01-{31 - number}T00:00:00Z")
        page = (await browser.get("/admin/posts?status=scheduled")).text
        assert titles_in(page)[:2] == [f"P{PER_PAGE + 1}", f"P{PER_PAGE}"]
        older = (await browser.get(link_in(page, "Older"))).text
        assert titles_in(older) == ["P1", "P0"]
        form = {"all": "1", "status": "scheduled", "action": "publish", "confirmed": "1"}
        await browser.follow(await browser.post("/admin/posts/bulk", form))
        assert await shown(browser, "/admin/posts?status=scheduled") == []

    async def test_a_search_has_pages_too(self, tenant: TenantWorld, browser: Visitor) -> None:
        for number in range(PER_PAGE + 2):
            await tenant.post(title=f"Fog {number}")
        page = (await browser.get("/admin/posts?q=fog")).text
        assert f"1–{PER_PAGE}</span>" in page
        assert await shown(browser, link_in(page, "Older")) == ["Fog 1", "Fog 0"]

    @pytest.mark.parametrize("query", ["", "q=fog", "status=draft", "q=nothing", "sort=title"])
    async def test_a_fragment_is_a_part_of_its_page(
        self, tenant: TenantWorld, browser: Visitor, query: str
    ) -> None:
        await tenant.post(title="Fog")
        await tenant.published(title="Tides")
        page = await browser.get(f"/admin/posts?{query}")
        part = await browser.get(f"/admin/posts?{query}", **HTMX)
        assert part.text.strip().startswith('<div id="list">')
        assert part.text.strip() in page.text
        assert "HX-Request" in part.headers["vary"]
        whole = await browser.get(
            f"/admin/posts?{query}", **HTMX, **{"hx-history-restore-request": "true"}
        )
        assert whole.text.lower().startswith("<!doctype html>")

    async def test_a_part_for_one_who_is_signed_out_leads_to_the_sign_in(
        self, tenant: TenantWorld
    ) -> None:
        answer = await Visitor(tenant.guest).get("/admin/posts?q=a", **HTMX)
        assert answer.headers["hx-redirect"].startswith("/admin/sign-in?next=")
        assert answer.text == ""

    @pytest.mark.parametrize(
        "query",
        ["after=~", "after=x", "after=a~b", "before=~~", "before=%00~%00", "at=-1&after=a~b",
         "at=99999999999999999999999&after=z~z", "q=%22%22%22", "q=%2A", "tag=%00", "author=%FF"],
    )  # fmt: skip
    async def test_any_address_is_a_page(
        self, tenant: TenantWorld, browser: Visitor, query: str
    ) -> None:
        await tenant.post(title="Fog")
        answer = await browser.get(f"/admin/posts?{query}")
        assert answer.status_code in (200, 303, 400)


class TestRoles:
    async def test_an_author_sees_and_changes_own_posts_alone(self, tenant: TenantWorld) -> None:
        browser, author = await staff(tenant, "author", name="Tobias Wren")
        other = await tenant.post(title="Not mine")
        await tenant.post(title="Mine", authors=[author.id])
        assert await shown(browser, "/admin/posts") == ["Mine"]
        assert await shown(browser, "/admin/posts?q=mine") == ["Mine"]
        for path in (f"/admin/posts/{other['id']}", f"/admin/posts/{other['id']}/delete"):
            assert (await browser.get(path)).status_code == 404
            assert (await browser.post(path, {"version": "1", "title": "x"})).status_code == 404
        page = await browser.follow(
            await browser.post(
                "/admin/posts/bulk",
                {f"select.{other['id']}": "on", "action": "delete", "confirmed": "1"},
            )
        )
        assert "Nothing needed to change." in page
        found = await tenant.world.parts.records.find(
            tenant.world.collection("posts"), {"id": other["id"]}, tenant_id=tenant.id
        )
        assert len(found) == 1

    async def test_an_editor_sees_all_posts_and_the_names_of_authors(
        self, tenant: TenantWorld
    ) -> None:
        author = await tenant.owner(role="author", name="Tobias Wren")
        await tenant.post(title="Bread", authors=[author.id])
        browser, _ = await staff(tenant, "editor")
        page = (await browser.get("/admin/posts")).text
        assert titles_in(page) == ["Bread"]
        assert "Tobias Wren" in page
        assert author.email not in page

    async def test_another_sites_posts_are_not_there(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        foreign = await other_tenant.post(title="Foreign")
        assert (await browser.get(f"/admin/posts/{foreign['id']}")).status_code == 404
        page = await browser.follow(
            await browser.post(
                "/admin/posts/bulk", {f"select.{foreign['id']}": "on", "action": "publish"}
            )
        )
        assert "Nothing needed to change." in page


class TestManyAtOnce:
    async def test_the_selected_ones_are_published_and_unpublished(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        one = await tenant.post(title="One")
        two = await tenant.published(title="Two")
        ticks = {f"select.{each['id']}": "on" for each in (one, two)}
        page = await browser.follow(
            await browser.post("/admin/posts/bulk", ticks | {"action": "publish"})
        )
        assert "1 post is published. One was not changed." in unescape(page)
        assert await shown(browser, "/admin/posts?status=draft") == []
        page = await browser.follow(
            await browser.post("/admin/posts/bulk", ticks | {"action": "unpublish"})
        )
        assert "2 posts are unpublished." in page
        assert (await tenant.event_names()).count("post.published") == 2

    async def test_a_deletion_asks_first(self, tenant: TenantWorld, browser: Visitor) -> None:
        one = await tenant.post(title="One")
        await tenant.post(title="Two")
        tick = {f"select.{one['id']}": "on", "action": "delete"}
        asked = await browser.post("/admin/posts/bulk", tick)
        assert asked.status_code == 200
        assert len(await shown(browser, "/admin/posts")) == 2
        confirmed = hidden_in(asked.text) | {"action": "delete"}
        page = await browser.follow(await browser.post("/admin/posts/bulk", confirmed))
        assert titles_in(page) == ["Two"]

    async def test_all_that_match_are_tagged_after_a_question(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for number in range(PER_PAGE + 5):
            await tenant.post(title=f"Draft {number}", tags=["old"])
        await tenant.published(title="Live")
        asked = await browser.post(
            "/admin/posts/bulk", {"all": "1", "status": "draft", "action": "tag"}
        )
        assert f"All {PER_PAGE + 5} that match" in asked.text
        form = hidden_in(asked.text) | {"action": "tag", "tag_name": " new "}
        page = await browser.follow(await browser.post("/admin/posts/bulk", form))
        assert f"{PER_PAGE + 5} posts are tagged." in page
        tagged = (await browser.get("/admin/posts?tag=new")).text
        assert f"of {PER_PAGE + 5}" in tagged
        mine = (await browser.get(link_in(tagged, "Older"))).text
        assert len(titles_in(mine)) == 5
        page = await browser.follow(await browser.get(link_in(mine, "Newer")))
        assert len(titles_in(page)) == PER_PAGE
        form |= {"action": "untag", "tag_name": "old"}
        await browser.follow(await browser.post("/admin/posts/bulk", form))
        assert await shown(browser, "/admin/posts?tag=old") == []

    async def test_a_tag_that_is_too_long_is_said_at_its_field(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        one = await tenant.post(title="One")
        form = {f"select.{one['id']}": "on", "action": "tag", "tag_name": "x" * 500}
        answer = await browser.post("/admin/posts/bulk", form)
        assert answer.status_code == 422
        assert 'aria-invalid="true"' in answer.text

    async def test_nothing_selected(self, tenant: TenantWorld, browser: Visitor) -> None:
        page = await browser.follow(await browser.post("/admin/posts/bulk", {"action": "publish"}))
        assert "No post was selected." in page
        assert (await browser.post("/admin/posts/bulk", {"action": "burn"})).status_code == 400

    async def test_a_read_only_site_stays_as_it_is(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        one = await tenant.post(title="One")
        await tenant.settings(read_only_mode=True)
        form = {f"select.{one['id']}": "on", "action": "publish"}
        answer = await browser.post("/admin/posts/bulk", form)
        assert answer.status_code == 403
        assert "read-only" in answer.text
        assert "This site is read-only." in (await browser.get("/admin/posts")).text


async def test_the_palette_finds_pages_and_posts(tenant: TenantWorld, browser: Visitor) -> None:
    await tenant.post(title="The <lighthouse>")
    found = (await browser.get("/admin/palette?q=lightho", **HTMX)).text
    assert "The &lt;lighthouse&gt;" in found
    assert 'aria-selected="true"' in found
    assert "Your account" in (await browser.get("/admin/palette?q=acc", **HTMX)).text
    assert "Nothing found for “zzz”." in (await browser.get("/admin/palette?q=zzz", **HTMX)).text


@pytest.mark.both_databases
async def test_the_palette_finds_members_mailings_and_settings(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    ana = await tenant.create("blog_members", {"email": "reader@tides.example", "name": "Ana"})
    await other_tenant.create("blog_members", {"email": "reader@elsewhere.example"})
    values = {"subject": "100% low tide", "status": "sent", "newsletter": "main"}
    mailing = await tenant.world.parts.records.create(
        system(tenant.id), mailings, {}, stamped=values
    )

    async def found(who: str, words: str) -> str:
        browser, _ = await staff(tenant, who)
        return (await browser.get(f"/admin/palette?q={quote(words)}", **HTMX)).text

    member = f'href="/admin/members/{ana["id"]}"'
    for who in ("owner", "editor"):
        for words in ("reader@", "reader@tides.example", "ana"):
            assert member in (text := await found(who, words)), (who, words)
            assert "elsewhere" not in text
        assert f'href="/admin/mailings/{mailing["id"]}"' in await found(who, "100% low")
    assert "Nothing found" in await found("author", "reader@")
    for words, page in (
        ("logo", "/design"),
        ("related", ""),
        ("DKIM", "/sending"),
        ("api", "/keys"),
        ("domain", "/domain"),
    ):
        assert f'href="/admin/settings{page}"' in await found("owner", words)
        assert f'href="/admin/settings{page}"' not in await found("editor", words)


@pytest.mark.sweep
async def test_a_thousand_posts_are_changed_in_one_go(
    tenant: TenantWorld, browser: Visitor
) -> None:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    async with records.unit(system(tenant.id)) as unit, unit.batched_inserts():
        for number in range(1_001):
            await unit.create(posts, {"title": f"Post {number}", "slug": f"p{number}"})
    form = {"all": "1", "action": "publish", "confirmed": "1"}
    page = await browser.follow(await browser.post("/admin/posts/bulk", form))
    assert "1,001 posts are published." in page
    assert (await tenant.event_names()).count("post.published") == 1_001
    assert "of 1,001" in (await browser.get("/admin/posts?status=published")).text
