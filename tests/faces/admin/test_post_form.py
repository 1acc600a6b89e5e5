"""The form of a post: what is written is saved, or nothing of it is lost."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.publishing import carry_out, choose
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.world import TenantWorld, records_of

from masthead.base import clock
from masthead.base.caller import system
from masthead.content.texts.editing import open_text, save_text
from masthead.engine.records.collection import Record
from masthead.features.posts.collection import POSTS
from masthead.service.background import job_runner


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner"))[0]


async def stored(tenant: TenantWorld, post_id: str) -> Record:
    records = tenant.world.parts.records
    [post] = await records.find(
        tenant.world.collection("posts"), {"id": post_id}, tenant_id=tenant.id
    )
    return post


async def test_a_new_post_is_a_draft_until_it_is_published(
    tenant: TenantWorld, browser: Visitor
) -> None:
    form = filled((await browser.get("/admin/posts/new")).text)
    form |= {
        "title": "Fog\nsignals",
        "tags": "harbour, fog ,, harbour",
        "content_html": "<p>Hm</p>",
    }
    answer = await browser.post("/admin/posts/new", form | {"action": "save"})
    post_id = answer.headers["location"].rpartition("/")[2]
    page = await browser.follow(answer)
    assert "Saved." in page
    post = await stored(tenant, post_id)
    assert (post["title"], post["slug"], post["status"]) == ("Fog signals", "fog-signals", "draft")
    assert post["tags"] == ["harbour", "fog"]
    page = await browser.follow(await carry_out(browser, f"/admin/posts/{post_id}", filled(page)))
    assert "The post is published." in page
    assert (await tenant.guest.get("/posts/fog-signals")).status_code == 200
    await choose(browser, f"/admin/posts/{post_id}", what="unpublish")
    assert (await stored(tenant, post_id))["status"] == "draft"


async def test_saving_the_form_as_it_is_changes_nothing(
    tenant: TenantWorld, browser: Visitor
) -> None:
    author = await tenant.owner(role="author")
    post = await tenant.published(
        title='A "title" & <more>',
        content_html="\n\n<p>a</p>\r\n<p>b</p>\n",
        excerpt="\nFirst\nsecond",
        tags=["a", "b"],
        visibility="paid",
        authors=[author.id],
        seo_title="For <engines>",
        featured_image="/media/x.png",
    )
    form = filled((await browser.get(f"/admin/posts/{post['id']}")).text)
    assert (await browser.post(f"/admin/posts/{post['id']}", form)).status_code == 303
    assert await stored(tenant, post["id"]) == await stored(tenant, post["id"]) | {
        name: post[name] for name in post
    }


async def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="Taken", slug="taken")
    post = await tenant.post(title="Mine")
    form = filled((await browser.get(f"/admin/posts/{post['id']}")).text)
    form |= {"title": " ", "slug": "ta ken", "excerpt": "x" * 501, "content_html": "<p>Long</p>"}
    answer = await browser.post(f"/admin/posts/{post['id']}", form)
    assert answer.status_code == 422
    for name in ("title", "slug", "excerpt"):
        assert f'id="{name}-error"' in answer.text
        assert f'href="#{name}"' in answer.text
    assert "501/500, 1 too many" in answer.text
    assert filled(answer.text)["content_html"] == "<p>Long</p>"
    again = filled(answer.text) | {"title": "Mine", "slug": "taken", "excerpt": ""}
    answer = await browser.post(f"/admin/posts/{post['id']}", again)
    assert "This value is taken." in answer.text
    again = filled(answer.text) | {"slug": ""}
    assert (await browser.post(f"/admin/posts/{post['id']}", again)).status_code == 303
    assert (await stored(tenant, post["id"]))["content_html"] == "<p>Long</p>"


async def test_two_people_in_conflict_see_both_texts(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Tides", content_html="<p>old</p>")
    form = filled((await browser.get(f"/admin/posts/{post['id']}")).text)
    await tenant.update("posts", post["id"], {"content_html": "<p>theirs</p>"})
    mine = form | {"content_html": "<p>mine\n&amp;</p>", "action": "review"}
    answer = await browser.post(f"/admin/posts/{post['id']}", mine)
    assert answer.status_code == 409
    assert "&lt;p&gt;mine\n&amp;amp;&lt;/p&gt;" in answer.text
    assert "&lt;p&gt;theirs&lt;/p&gt;" in answer.text
    assert (await stored(tenant, post["id"]))["content_html"] == "<p>theirs</p>"
    kept = hidden_in(answer.text)
    answer_to_mine = await browser.post(f"/admin/posts/{post['id']}", kept)
    assert answer_to_mine.headers["location"] == f"/admin/posts/{post['id']}/publish"
    await choose(browser, f"/admin/posts/{post['id']}")
    after = await stored(tenant, post["id"])
    assert (after["content_html"], after["status"]) == ("<p>mine\n&amp;</p>", "published")
    assert "Someone else or a program has saved this post" in answer.text
    assert ">Take theirs<" in answer.text


async def test_a_conflict_names_the_other_person(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Tides")
    form = filled((await browser.get(f"/admin/posts/{post['id']}")).text)
    bo, _ = await staff(tenant, "editor", name="Bo")
    theirs = form | {"title": "Tides of Bo", "form_token": await bo.token()}
    await bo.post(f"/admin/posts/{post['id']}", theirs)
    answer = await browser.post(f"/admin/posts/{post['id']}", form | {"title": "Tides of Ana"})
    assert "Bo has saved this post since you opened it" in answer.text


@pytest.mark.parametrize("status", ["draft", "published"])
async def test_a_second_tab_of_ones_own_is_not_called_another_person(
    tenant: TenantWorld, browser: Visitor, status: str
) -> None:
    path = f"/admin/posts/{(await tenant.post(title='Tides', status=status))['id']}"
    one, other = [filled((await browser.get(path)).text) for _ in range(2)]
    await browser.post(path, one | {"content_html": "<p>one</p>"})
    answer = await browser.post(path, other | {"content_html": "<p>other</p>"})
    assert answer.status_code == 409
    assert "You saved this post in another tab or browser since" in answer.text
    assert ">Take the other one<" in answer.text
    assert "heirs" not in answer.text
    assert "omeone" not in answer.text


async def test_an_author_can_not_name_authors(tenant: TenantWorld) -> None:
    browser, author = await staff(tenant, "author", name="Tobias")
    other = await tenant.owner(name="Nell")
    form = {"title": "Mine", f"authors.{other.id}": "on", "has_authors": "1"}
    answer = await browser.post("/admin/posts/new", form)
    post = await stored(tenant, answer.headers["location"].rpartition("/")[2])
    assert post["authors"] == [author.id]
    page = (await browser.get(answer.headers["location"])).text
    assert "has_authors" not in page


async def test_an_author_without_a_name_stays_one(tenant: TenantWorld) -> None:
    nameless = await tenant.owner(role="author")
    post = await tenant.post(title="Ours", authors=[nameless.id])
    browser, _ = await staff(tenant, "editor")
    form = filled((await browser.get(f"/admin/posts/{post['id']}")).text) | {"title": "Theirs"}
    await browser.post(f"/admin/posts/{post['id']}", form)
    after = await stored(tenant, post["id"])
    assert (after["title"], after["authors"]) == ("Theirs", [nameless.id])


async def test_deleting_asks_first(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Gone")
    page = (await browser.get(f"/admin/posts/{post['id']}/delete")).text
    assert "Keep it" in page
    page = await browser.follow(await browser.post(f"/admin/posts/{post['id']}/delete"))
    assert "is in the trash." in page
    assert (await browser.get(f"/admin/posts/{post['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("form", "status"),
    [({}, 409), ({"version": "x"}, 409), ({"version": "9" * 40}, 409), ({"action": "burn"}, 400)],
)
async def test_any_form_has_an_answer(
    tenant: TenantWorld, browser: Visitor, form: dict[str, Any], status: int
) -> None:
    post = await tenant.post(title="Tides")
    answer = await browser.post(f"/admin/posts/{post['id']}", {"title": "x", **form})
    assert answer.status_code == status


async def test_a_change_that_waits_is_shown_and_goes_live_with_the_form(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.published(title="Live", content_html="<p>live</p>")
    records, caller = tenant.world.parts.records, system(tenant.id)
    opened = await open_text(records, caller, POSTS, post["id"])
    await save_text(
        records, caller, POSTS, post["id"], version=opened.version, given={"title": "Waiting"}
    )
    page = (await browser.get(f"/admin/posts/{post['id']}")).text
    assert "Changed, not live." in page
    form = filled(page) | {"excerpt": "And this"}
    await tenant.update("posts", post["id"], {"seo_title": "By a program"})
    answer = await browser.post(f"/admin/posts/{post['id']}", form)
    assert answer.status_code == 409
    mine = hidden_in(answer.text)
    assert (await browser.post(f"/admin/posts/{post['id']}", mine)).status_code == 303
    assert (await stored(tenant, post["id"]))["title"] == "Live"
    assert (await choose(browser, f"/admin/posts/{post['id']}")).status_code == 303
    after = await stored(tenant, post["id"])
    assert (after["title"], after["excerpt"]) == ("Waiting", "And this")


async def test_markup_in_any_field_stays_text(tenant: TenantWorld, browser: Visitor) -> None:
    evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"
    post = await tenant.post(
        title=evil,
        excerpt=evil,
        content_html=f"</textarea>{evil}",
        tags=[evil],
        seo_title=evil[:60],
    )
    for path in ("/admin", "/admin/posts", f"/admin/posts/{post['id']}", "/admin/palette?q=alert"):
        page = (await browser.get(path, **{"hx-request": "true"} if "palette" in path else {})).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "49" not in re.findall(r"onerror=alert\(1\)&gt;(\w+)", page)


async def test_a_draft_is_scheduled_in_the_sites_time_zone(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.settings(time_zone="Europe/Berlin")
    post = await tenant.post(title="Tides")
    path = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(path)).text)
    year = tenant.world.clock().year + 1
    unreadable, past = "at the time that you choose", "That time has passed"
    for wrong, sentence in (
        ("", unreadable),
        ("soon", unreadable),
        (f"{year - 3}-01-07T09:30", past),
    ):
        refused = await carry_out(browser, path, form, what="schedule", publish_on=wrong)
        assert refused.status_code == 422
        assert 'id="publish_on-error"' in refused.text
        assert sentence in refused.text
        form = filled((await browser.get(path)).text)
    answer = await choose(browser, path, what="schedule", publish_on=f"{year}-01-07T09:30")
    assert "The post is scheduled." in await browser.follow(answer)
    page = (await browser.get(f"{path}/publish")).text
    assert f'value="{year}-01-07T09:30"' in page
    assert f"7 January {year} at 09:30 (Europe/Berlin)" in page
    assert (await stored(tenant, post["id"]))["scheduled_for"].startswith(f"{year}-01-07T08:30")
    await choose(browser, path, what="unschedule")
    assert (await stored(tenant, post["id"]))["scheduled_for"] == ""


async def test_a_refused_update_of_a_published_post_is_sent_again(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="Taken", slug="taken")
    post = await tenant.published(title="Tides", content_html="<p>old</p>")
    path = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(path)).text)
    form |= {"slug": "taken", "content_html": "<p>new</p>"}
    refused = await carry_out(browser, path, form)
    assert refused.status_code == 422
    assert "This value is taken." in refused.text
    again = filled(refused.text) | {"slug": "free"}
    assert "The change is live." in await browser.follow(await carry_out(browser, path, again))
    after = await stored(tenant, post["id"])
    assert (after["slug"], after["content_html"]) == ("free", "<p>new</p>")


async def test_the_html_of_the_form_goes_live_instead_of_the_copys_document(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.published(title="Tides", content_html="<p>old</p>")
    path = f"/admin/posts/{post['id']}"
    records, caller = tenant.world.parts.records, system(tenant.id)
    opened = await open_text(records, caller, POSTS, post["id"])
    document = {"type": "doc", "content": [{"type": "paragraph"}]}
    given = {"content_json": document, "excerpt": "Of the copy"}
    await save_text(records, caller, POSTS, post["id"], version=opened.version, given=given)
    form = filled((await browser.get(f"{path}?as=html")).text)
    await carry_out(browser, path, form | {"content_html": "<p>form</p>"})
    after = await stored(tenant, post["id"])
    assert (after["content_html"], after["excerpt"]) == ("<p>form</p>", "Of the copy")
    assert after["content_source"] == "html"


async def test_a_published_post_is_not_scheduled(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.published(title="Tides")
    path = f"/admin/posts/{post['id']}"
    await choose(browser, path, what="schedule", publish_on="2040-01-01T09:00")
    after = await stored(tenant, post["id"])
    assert (after["status"], after["scheduled_for"]) == ("published", "")


async def test_a_post_that_published_itself_meanwhile_says_so(
    tenant: TenantWorld, browser: Visitor
) -> None:
    world = tenant.world
    at = clock.to_text(world.clock() + timedelta(hours=1))
    post = await tenant.post(title="Tides", content_html="<p>old</p>", scheduled_for=at)
    path = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(path)).text)
    world.clock.advance(hours=2)
    await job_runner(world.parts).run_due()
    same = await browser.post(path, form)
    assert same.status_code == 409
    assert "“Tides” has changed in the meantime" in same.text
    assert "This post was published since you opened it" in same.text
    assert "Go on" in same.text
    other = await browser.post(path, form | {"content_html": "<p>mine</p>"})
    assert "Two versions of “Tides”" in other.text
    assert "This post was published since you opened it" in other.text
    assert (await browser.post(path, hidden_in(other.text))).status_code == 303
    assert "<p>old</p>" in (await tenant.guest.get("/posts/tides")).text


async def test_the_address_that_a_draft_gets_is_shown_but_not_chosen(
    tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.post(title="Tides")
    draft = await tenant.post(title="Tides")
    page = (await browser.get(f"/admin/posts/{draft['id']}")).text
    assert filled(page)["slug"] == ""
    assert 'placeholder="tides-2"' in page
    chosen = await tenant.post(title="Fog", slug="mist")
    page = (await browser.get(f"/admin/posts/{chosen['id']}")).text
    assert filled(page)["slug"] == "mist"
    assert 'placeholder="fog' not in page


async def test_a_long_text_that_is_refused_is_not_sent_back(
    tenant: TenantWorld, browser: Visitor
) -> None:
    page = (await browser.get("/admin/posts/new")).text
    assert "Up to 8 MB." in page
    form = filled(page)
    many = " ".join(f"a{number}=1" for number in range(100_000))
    form |= {"title": "Long", "content_html": f"<p {many}>x</p>" + "y" * 400_000}
    answer = await browser.post("/admin/posts/new", form | {"action": "save"})
    assert answer.status_code == 400
    assert "more than 100 attributes" in answer.text
    assert "Go back in your browser" in answer.text
    assert len(answer.content) < 100_000
    found = await tenant.world.parts.records.find(
        tenant.world.collection("posts"), {}, tenant_id=tenant.id
    )
    assert found == []


async def test_a_short_one_is_shown_again_with_the_reason(
    tenant: TenantWorld, browser: Visitor
) -> None:
    form = filled((await browser.get("/admin/posts/new")).text)
    form |= {"title": "Short", "content_html": "<p>" * 130_000}
    answer = await browser.post("/admin/posts/new", form | {"action": "save"})
    assert "more than 120,000 tags" in answer.text
    assert "&lt;p&gt;&lt;p&gt;" in answer.text


@pytest.mark.parametrize("role", ["owner", "editor", "author"])
async def test_the_person_who_begins_a_post_is_its_author(tenant: TenantWorld, role: str) -> None:
    person, account = await staff(tenant, role, name="Ada Byron")
    form = filled((await person.get("/admin/posts/new")).text) | {"title": "Mine"}
    answer = await carry_out(person, "/admin/posts/new", form)
    post = await stored(tenant, answer.headers["location"].rpartition("/")[2])
    assert post["authors"] == [account.id]
    page = await tenant.guest.get(f"/posts/{post['slug']}", headers={"accept": "text/html"})
    assert "Ada Byron" in page.text
    assert "Add your name" not in (await person.get("/admin/posts/new")).text


@pytest.mark.parametrize("role", ["owner", "editor"])
async def test_a_person_without_a_name_is_asked_for_it_and_is_the_author(
    tenant: TenantWorld, role: str
) -> None:
    person, account = await staff(tenant, role)
    page = (await person.get("/admin/posts/new")).text
    assert 'href="/admin/account">Add your name' in page
    answer = await person.post("/admin/posts/new", filled(page) | {"title": "Mine"})
    post = await stored(tenant, answer.headers["location"].rpartition("/")[2])
    assert post["authors"] == [account.id]
    alone = {name: value for name, value in filled(page).items() if not name.startswith("authors.")}
    answer = await person.post("/admin/posts/new", alone | {"title": "Nobody's"})
    assert (await stored(tenant, answer.headers["location"].rpartition("/")[2]))["authors"] == []


@pytest.mark.parametrize("role", ["owner", "contributor"])
async def test_a_text_is_duplicated(tenant: TenantWorld, role: str) -> None:
    browser, account = await staff(tenant, role)
    post = await tenant.published(
        title="Fog",
        slug="fog",
        content_html="<p>Two blasts.</p>",
        tags=["coast"],
        excerpt="On fog",
        visibility="paid",
        authors=[account.id],
    )
    answer = await browser.post(f"/admin/posts/{post['id']}/duplicate")
    made = answer.headers["location"].rpartition("/")[2]
    copy = (await account.api.get(records_of("posts", made))).json()
    assert (copy["title"], copy["status"], copy["slug"]) == ("Fog (copy)", "draft", "fog-copy")
    for name in ("content_html", "tags", "excerpt", "visibility", "authors"):
        assert copy[name] == post[name], name
    other = await tenant.post(title="Theirs", authors=[])
    refused = await browser.post(f"/admin/posts/{other['id']}/duplicate")
    assert refused.status_code == (404 if role == "contributor" else 303)
