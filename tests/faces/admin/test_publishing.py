"""The dialog before publishing: it says what happens, and does that and nothing else."""

from __future__ import annotations

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.publishing import choose
from tests.faces.admin.visitor import Visitor, staff
from tests.world import TenantWorld

from masthead.engine.records.collection import Record
from masthead.features.trash.collection import trash


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner"))[0]


async def stored(tenant: TenantWorld, post: Record) -> Record:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    return (await records.find(posts, {"id": post["id"]}, tenant_id=tenant.id))[0]


def dialog_of(post: Record) -> str:
    return f"/admin/posts/{post['id']}/publish"


async def test_what_was_not_said_does_not_happen(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Tides", visibility="paid")
    page = (await browser.get(dialog_of(post))).text
    assert "now. Paid members can read it." in page
    form = filled(page) | {"visibility": "public"}
    answer = await browser.post(dialog_of(post), form)
    assert answer.status_code == 200
    assert "now. Everyone can read it." in answer.text
    assert (await stored(tenant, post))["status"] == "draft"
    answer = await browser.post(dialog_of(post), filled(answer.text))
    assert answer.status_code == 303
    after = await stored(tenant, post)
    assert (after["status"], after["visibility"]) == ("published", "public")


async def test_the_sentence_follows_the_choice(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Tides")
    query = "what=schedule&publish_on=2040-02-01T09:00&visibility=members"
    answer = await browser.get(f"{dialog_of(post)}?{query}", **{"hx-request": "true"})
    assert "1 February 2040 at 09:00 (UTC). Members can read it." in answer.text
    assert "<html" not in answer.text


async def test_a_time_that_has_passed_is_said_at_once(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.post(title="Tides")
    past = "2001-02-01T09:00"
    query = f"what=schedule&publish_on={past}"
    answer = await browser.get(f"{dialog_of(post)}?{query}", **{"hx-request": "true"})
    assert "That time has passed: it is " in answer.text
    assert "(UTC) now. Choose a time in the future." in answer.text
    # None is typed yet.
    answer = await browser.get(f"{dialog_of(post)}?what=schedule&publish_on=")
    assert "automatically at the time that you choose." in answer.text
    await tenant.update("posts", post["id"], {"status": "published"})
    query = f"when=later&send_at={past}"
    answer = await browser.get(f"/admin/posts/{post['id']}/mail?{query}", **{"hx-request": "true"})
    assert "That time has passed: it is " in answer.text


async def test_a_text_that_was_saved_meanwhile_is_not_published(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.post(title="Tides")
    form = filled((await browser.get(dialog_of(post))).text)
    await tenant.update("posts", post["id"], {"title": "By another"})
    page = await browser.follow(await browser.post(dialog_of(post), form))
    assert "Nothing was published" in page
    assert (await stored(tenant, post))["status"] == "draft"


async def test_a_published_post_without_changes_offers_to_take_it_off(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.published(title="Tides")
    page = (await browser.get(dialog_of(post))).text
    assert "without the waiting changes" in page
    await choose(browser, f"/admin/posts/{post['id']}")
    assert (await stored(tenant, post))["status"] == "published"
    await choose(browser, f"/admin/posts/{post['id']}", what="unpublish")
    assert (await stored(tenant, post))["status"] == "draft"


@pytest.mark.parametrize(("what", "status"), [("update", "published"), ("unpublish", "draft")])
async def test_changes_that_are_not_live_replace_those_of_a_program(
    tenant: TenantWorld, browser: Visitor, what: str, status: str
) -> None:
    post = await tenant.published(title="Tides", content_html="<p>Old</p>")
    path = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(path)).text)
    assert (await browser.post(path, form | {"title": "Tides of Ana"})).status_code == 303
    await tenant.update("posts", post["id"], {"title": "Tides of a program"})
    assert "Two versions." in (await browser.get(f"{path}/publish")).text
    assert (await choose(browser, path, what=what)).status_code == 303
    after = await stored(tenant, post)
    assert (after["status"], after["title"]) == (status, "Tides of Ana")
    history = (await browser.get(f"{path}/revisions")).text
    assert "Tides of a program" in history


async def test_a_post_from_the_trash_has_the_changes_that_were_not_live(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.published(title="Tides", content_html="<p>Old</p>")
    path = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(path)).text)
    assert (await browser.post(path, form | {"title": "Tides of Ana"})).status_code == 303
    deleting = filled((await browser.get(f"{path}/delete")).text)
    assert (await browser.post(f"{path}/delete", deleting)).status_code == 303
    entry = (await tenant.world.parts.records.find(trash, {}, tenant_id=tenant.id))[0]
    assert (await browser.post(f"/admin/trash/{entry['id']}/restore")).status_code == 303
    # Nobody has changed it meanwhile.
    assert "Two versions." not in (await browser.get(f"{path}/publish")).text
    assert (await choose(browser, path, what="update")).status_code == 303
    assert (await stored(tenant, post))["title"] == "Tides of Ana"


async def test_unknown_choices_are_none(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post(title="Tides", visibility="paid")
    await choose(browser, f"/admin/posts/{post['id']}", what="delete", visibility="nobody")
    after = await stored(tenant, post)
    assert (after["status"], after["visibility"]) == ("published", "paid")


@pytest.mark.parametrize("page", ["publish", "email", "email/page"])
async def test_others_posts_have_no_dialog(
    tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor, page: str
) -> None:
    foreign = await other_tenant.post(title="Foreign")
    assert (await browser.get(f"/admin/posts/{foreign['id']}/{page}")).status_code == 404
    author, _ = await staff(tenant, "author")
    own = await tenant.post(title="An editor's")
    assert (await author.get(f"/admin/posts/{own['id']}/{page}")).status_code == 404


async def test_the_email_is_shown_as_free_and_paid_members_get_it(
    tenant: TenantWorld, browser: Visitor
) -> None:
    html = "<p>Opening</p><!--more--><p>The secret</p>"
    post = await tenant.post(title="Tides", visibility="paid", content_html=html)
    path = f"/admin/posts/{post['id']}/email"
    free, paid = [(await browser.get(f"{path}/page?as={each}")).text for each in ("free", "paid")]
    assert "Opening" in free
    assert "The secret" not in free
    assert "The secret" in paid
    page = (await browser.get(f"{path}?as=free")).text
    assert "gets the beginning" in page
    assert "KB of the 102 KB that Gmail shows" in page


async def test_the_email_is_shown_in_both_colours_and_can_run_nothing(
    tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.post(title="Tides", content_html="<p>Text</p>")
    path = f"/admin/posts/{post['id']}/email/page"
    light, dark = [await browser.get(f"{path}?colours={each}") for each in ("light", "dark")]
    assert "@media all" in dark.text
    assert "@media not all" in light.text
    policy = light.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert "sandbox allow-popups" in policy
    assert (await browser.get(f"{path}?newsletter=none")).status_code == 404
