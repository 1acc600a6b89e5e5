"""The admin's list of tags, and the forms that rename, merge and remove them."""

from __future__ import annotations

import re
from html import unescape

import pytest
from tests.faces.admin.test_posts import HTMX, link_in
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.faces.record_api.test_roles import upload
from tests.features.posts.test_tags import run_jobs, totals
from tests.world import TenantWorld, World, records_of

from masthead.faces.admin.pages.texts.tags import MAX_READ, PER_PAGE

EVIL = "\"'><script>alert(1)</script>/..?a=b&c"


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "editor"))[0]


def rows_in(page: str) -> list[tuple[str, str]]:
    """Each tag with its number of posts."""
    found = re.findall(
        r'class="title" href="[^"]*">([^<]*)<.*?>([\d,]+)<span class="vh"> posts?', page
    )
    return [(unescape(tag), total) for tag, total in found]


async def listed(browser: Visitor, query: str = "") -> list[tuple[str, str]]:
    return rows_in((await browser.get(f"/admin/tags{query}")).text)


def question(tag: str, action: str, new_tag: str = "", **more: str) -> dict[str, str]:
    return {"tag": tag, "action": action, "new_tag": new_tag, **more}


async def test_a_first_visit_says_where_tags_come_from(browser: Visitor) -> None:
    assert "No tags yet" in (await browser.get("/admin/tags")).text


async def test_tags_are_listed_with_the_number_of_their_posts(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.published(title="One", tags=["Sea", "fog"])
    await tenant.post(title="Two", tags=["fog"])
    gone = await tenant.post(title="Three", tags=["gone"])
    await tenant.update("posts", gone["id"], {"tags": []})
    assert await listed(browser) == [("fog", "2"), ("gone", "0"), ("Sea", "1")]
    assert await listed(browser, "?sort=posts") == [("fog", "2"), ("Sea", "1"), ("gone", "0")]
    assert await listed(browser, "?q=SE") == [("Sea", "1")]
    page = (await browser.get("/admin/tags?q=none")).text
    assert "No tag matches" in page
    part = await browser.get("/admin/tags?q=se", **HTMX)
    assert part.text.strip().startswith('<div id="list">')
    assert 'href="/admin/posts?tag=fog"' in (await browser.get("/admin/tags")).text


@pytest.mark.parametrize("sort", ["", "sort=posts"])
async def test_many_tags_have_pages(tenant: TenantWorld, browser: Visitor, sort: str) -> None:
    tags = [f"Tag {number:03}" for number in range(PER_PAGE + 10)]
    await tenant.post(title="Many", tags=tags)
    await tenant.post(title="Few", tags=tags[:5])
    page = (await browser.get(f"/admin/tags?{sort}")).text
    first = rows_in(page)
    assert [tag for tag, _ in first] == tags[:PER_PAGE]
    assert f"1–{PER_PAGE} of {PER_PAGE + 10}" in page
    page = (await browser.get(link_in(page, "Next"))).text
    assert [tag for tag, _ in rows_in(page)] == tags[PER_PAGE:]
    assert await listed(browser, link_in(page, "Previous").removeprefix("/admin/tags")) == first


async def test_a_site_with_very_many_tags_reads_those_that_it_shows(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="Many", tags=["fog", "foghorn", "fog bank", "Sea"])
    tides = [f"tide {number:04}" for number in range(MAX_READ)]
    for start in range(0, MAX_READ, 100):
        await tenant.post(title="Tides", tags=tides[start : start + 100])
    tags = ["Sea", "fog", "fog bank", "foghorn", *tides]
    page = (await browser.get("/admin/tags?sort=posts")).text
    assert [tag for tag, _ in rows_in(page)] == tags[:PER_PAGE]
    page = (await browser.get(link_in(page, "Next"))).text
    assert [tag for tag, _ in rows_in(page)] == tags[PER_PAGE : 2 * PER_PAGE]
    assert link_in(page, "First page") == "/admin/tags?sort=posts"
    assert [tag for tag, _ in await listed(browser, "?q=fogh")] == ["foghorn"]
    assert "begins with" in (await browser.get("/admin/tags?q=zz%00")).text
    page = (await browser.get("/admin/tags/change?tag=fog")).text
    assert '<input class="input" id="into" name="new_tag"' in page
    answer = await browser.post("/admin/tags/change", question("fog", "merge", "foghorn"))
    assert "Merge “fog” into “foghorn”?" in answer.text


@pytest.mark.parametrize("query", ["?after=x", "?after=~", "?before=1~zz", "?after=99999999999~a"])
async def test_any_address_is_a_page(tenant: TenantWorld, browser: Visitor, query: str) -> None:
    await tenant.post(title="One", tags=["a"])
    assert (await browser.get(f"/admin/tags{query}")).status_code == 200


async def test_a_tag_is_renamed_while_the_list_shows_how_far_it_is(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.published(title="One", tags=["harbor"])
    page = (await browser.get("/admin/tags/change?tag=harbor")).text
    assert 'value="harbor"' in page
    answer = await browser.post("/admin/tags/change", question("harbor", "rename", " harbour "))
    page = await browser.follow(answer)
    assert "“harbor” is being renamed to “harbour”." in page
    assert "0 of 1" in page
    assert 'hx-trigger="every 2s"' in page
    assert "Changing" in page
    assert "Start again" in (await browser.get("/admin/tags/change?tag=harbor")).text
    await run_jobs(app)
    part = (await browser.get("/admin/tags", **HTMX)).text
    assert "every 2s" not in part
    assert rows_in(part) == [("harbour", "1")]


async def test_a_description_is_saved_and_shown_to_readers(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.published(title="One", tags=["fog"])
    form = {"tag": "fog", "action": "describe", "description": " What hides <the> sea. "}
    page = await browser.follow(await browser.post("/admin/tags/change", form))
    assert "Saved." in page
    assert "What hides &lt;the&gt; sea.</textarea>" in page
    shown = (await tenant.guest.get("/tags/fog")).text
    assert "What hides &lt;the&gt; sea." in shown
    assert '<meta name="description" content="What hides &lt;the&gt; sea.">' in shown
    answer = await browser.post("/admin/tags/change", form | {"description": "x" * 501})
    assert (answer.status_code, "no more than 500" in answer.text) == (422, True)


async def test_a_tag_that_no_post_has_any_more_can_be_removed(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.post(title="One", tags=["a"])
    await tenant.update("posts", post["id"], {"tags": []})
    form = question("a", "remove", confirmed="1")
    await browser.follow(await browser.post("/admin/tags/change", form))
    await run_jobs(app)
    assert await listed(browser) == []


async def test_a_name_that_is_taken_asks_whether_to_merge(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="One", tags=["a"])
    await tenant.post(title="Two", tags=["b"])
    for action in ("rename", "merge"):
        page = (await browser.post("/admin/tags/change", question("a", action, "b"))).text
        assert "Merge “a” into “b”?" in page
        assert await totals(tenant) == {"a": 1, "b": 1}
    answer = await browser.post("/admin/tags/change", hidden_in(page))
    assert "“a” is being merged into “b”." in await browser.follow(answer)
    await run_jobs(app)
    assert await totals(tenant) == {"b": 2}


async def test_removing_asks_first(app: World, tenant: TenantWorld, browser: Visitor) -> None:
    await tenant.post(title="One", tags=["a"])
    page = (await browser.post("/admin/tags/change", question("a", "remove"))).text
    assert "Remove “a”?" in page
    await browser.follow(await browser.post("/admin/tags/change", hidden_in(page)))
    await run_jobs(app)
    assert await totals(tenant) == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (" ", "Type a name."),
        ("a", "The tag already has this name."),
        ("x" * 101, "no more than 100"),
        ("one, two", "comma"),
    ],
)
async def test_what_is_wrong_with_a_name_is_said_at_its_field(
    tenant: TenantWorld, browser: Visitor, name: str, sentence: str
) -> None:
    await tenant.post(title="One", tags=["a"])
    answer = await browser.post("/admin/tags/change", question("a", "rename", name))
    assert answer.status_code == 422
    assert sentence in answer.text
    assert 'aria-invalid="true"' in answer.text


async def test_a_tag_that_is_being_changed_waits(tenant: TenantWorld, browser: Visitor) -> None:
    await tenant.post(title="One", tags=["a"])
    await tenant.post(title="Two", tags=["b"])
    await browser.post("/admin/tags/change", question("a", "rename", "c"))
    answer = await browser.post("/admin/tags/change", question("b", "merge", "a", confirmed="1"))
    assert answer.status_code == 422
    assert "“a” is being changed." in unescape(answer.text)


async def test_any_form_has_an_answer(tenant: TenantWorld, browser: Visitor) -> None:
    await tenant.post(title="One", tags=[EVIL])
    assert (await browser.post("/admin/tags/change", {"tag": "a"})).status_code == 400
    for tag in ("none", ""):
        form = question(tag, "rename", "b")
        assert (await browser.post("/admin/tags/change", form)).status_code == 404
    for query in ("", "?tag=none", "?tag=nul%00"):
        assert (await browser.get(f"/admin/tags/change{query}")).status_code == 404


async def test_markup_in_a_tag_stays_text(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="One", tags=[EVIL, "b"])
    page = (await browser.get("/admin/tags")).text
    assert (EVIL, "1") in rows_in(page)
    link = next(
        unescape(each)
        for each in re.findall(r'class="title" href="([^"]*)"', page)
        if "script" in each
    )
    pages = [page, (await browser.get(link)).text]
    pages.append((await browser.post("/admin/tags/change", question(EVIL, "merge", "b"))).text)
    answer = await browser.post("/admin/tags/change", question(EVIL, "rename", f"{EVIL}!"))
    pages.append(await browser.follow(answer))
    for each in pages:
        assert "<script>alert" not in each
    await run_jobs(app)
    assert await totals(tenant) == {f"{EVIL}!": 1, "b": 1}


async def test_an_author_has_no_tags_to_change(tenant: TenantWorld) -> None:
    browser, author = await staff(tenant, "author")
    await tenant.post(title="Mine", tags=["a"], authors=[author.id])
    assert "/admin/tags" not in (await browser.get("/admin")).text
    for path in ("/admin/tags", "/admin/tags/change?tag=a"):
        assert (await browser.get(path)).status_code == 403
    for action in ("rename", "merge", "remove", "describe"):
        form = question("a", action, "b", confirmed="1")
        assert (await browser.post("/admin/tags/change", form)).status_code == 403
    await run_jobs(tenant.world)
    assert await totals(tenant) == {"a": 1}


async def test_another_sites_tags_are_not_there(
    other_tenant: TenantWorld, browser: Visitor
) -> None:
    await other_tenant.post(title="Theirs", tags=["a"])
    assert (await browser.get("/admin/tags/change?tag=a")).status_code == 404
    answer = await browser.post("/admin/tags/change", question("a", "rename", "b"))
    assert answer.status_code == 404
    await run_jobs(other_tenant.world)
    assert await totals(other_tenant) == {"a": 1}


async def test_a_tag_has_a_picture_on_its_page(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "editor")
    await tenant.published(title="Fog", tags=["coast"])
    picture = (await upload(account)).json()
    form = {"tag": "coast", "action": "describe", "description": "All of it.", "has_picture": "1"}
    answer = await browser.post("/admin/tags/change", {**form, "picture": picture["url"]})
    assert answer.status_code == 303
    page = (await tenant.guest.get("/tags/coast")).text
    assert picture["id"] in page
    assert "All of it." in page
    stored = (await account.api.get(records_of("media", picture["id"]))).json()
    assert (stored["uses"], stored["open_uses"]) == (1, 1)
    refused = await browser.post("/admin/tags/change", {**form, "picture": "javascript:alert(1)"})
    assert refused.status_code == 422
    assert picture["id"] in (await browser.get("/admin/tags/change?tag=coast")).text
