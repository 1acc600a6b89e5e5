"""A text as its readers will see it, before they do."""

from __future__ import annotations

import re

import pytest
from tests.faces.admin.visitor import Visitor, staff, visitor
from tests.world import TenantWorld, World

GATED = '<p>For all.</p><hr class="paywall"><p>For members alone.</p>'
FRAME = re.compile(r'<iframe src="([^"]+)"')


async def framed(browser: Visitor, path: str) -> str:
    """The page in the frame of a preview."""
    frame = FRAME.search((await browser.get(path)).text)
    assert frame
    answer = await browser.get(frame[1].replace("&amp;", "&"))
    assert answer.status_code == 200
    return answer.text


async def test_each_reader_gets_the_part_that_is_for_them(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await tenant.post(
        title="Fog", content_html=GATED, visibility="members", tags=["coast"], excerpt="Low."
    )
    path = f"/admin/posts/{post['id']}/preview"
    for readers, sees, is_whole in (
        ("guest", "Guests read only the part before the paywall.", False),
        ("member", "Members read everything.", True),
        ("paid", "Paid members read everything.", True),
    ):
        frame = (await browser.get(f"{path}?as={readers}")).text
        assert sees in frame
        page = await framed(browser, f"{path}?as={readers}")
        assert "<h1>Fog</h1>" in page
        assert "For all." in page
        assert ("For members alone." in page) is is_whole
        assert ('class="wall"' in page) is not is_whole
        assert ">coast<" in page
    closed = await tenant.post(title="Paid", content_html="<p>All</p>", visibility="paid")
    frame = (await browser.get(f"/admin/posts/{closed['id']}/preview?as=member")).text
    assert "Members read only the title and the excerpt." in frame


async def test_it_shows_what_was_typed_and_the_site_stays_as_it_is(
    tenant: TenantWorld, app: World
) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await tenant.published(title="Live", content_html="<p>Live</p>")
    form = {"version": f"{post['version']}.0", "title": "Live", "content_html": "<p>Typed</p>"}
    saved = await browser.post(f"/admin/posts/{post['id']}", {**form, "action": "preview"})
    assert saved.headers["location"] == f"/admin/posts/{post['id']}/preview"
    events = await tenant.event_names()
    frame = (await browser.get(saved.headers["location"])).text
    assert "Changed, not live" in frame
    page = await framed(browser, saved.headers["location"])
    assert "<p>Typed</p>" in page
    assert "<p>Live</p>" not in page
    reader = app.client(tenant.host)
    assert "Typed" not in (await reader.get(f"/posts/{post['slug']}")).text
    assert await tenant.event_names() == events


async def test_a_draft_is_shown_to_nobody_else(
    tenant: TenantWorld, other_tenant: TenantWorld, app: World
) -> None:
    post = await tenant.post(title="Draft", content_html="<p>Secret</p>")
    author, account = await staff(tenant, "author")
    editor, _ = await staff(tenant, "editor")
    stranger, _ = await staff(other_tenant, "owner")
    guest = Visitor(app.client(tenant.host))
    for path in (
        f"/admin/posts/{post['id']}/preview",
        f"/admin/posts/{post['id']}/preview/page?as=paid",
    ):
        assert (await editor.get(path)).status_code == 200
        for browser in (author, stranger):
            answer = await browser.get(path)
            assert answer.status_code == 404
            assert "Secret" not in answer.text
        answer = await guest.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/admin/sign-in?next=")
    own = await tenant.post(title="Own", content_html="<p>Own</p>", authors=[account.id])
    assert "<p>Own</p>" in await framed(author, f"/admin/posts/{own['id']}/preview")


async def test_the_page_is_for_the_frame_of_the_admin_alone(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await tenant.post(title="Draft", content_html="<p>Text</p>", visibility="members")
    path = f"/admin/posts/{post['id']}/preview"
    frame = await browser.get(path)
    assert "frame-ancestors 'none'" in frame.headers["content-security-policy"]
    answer = await browser.get(f"{path}/page?as=member")
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    assert answer.headers.get_list("content-security-policy", split_commas=False) == [
        answer.headers["content-security-policy"]
    ]
    assert answer.headers["cache-control"] == "no-store"
    assert "noindex" in answer.headers["x-robots-tag"]
    assert '<meta name="robots" content="noindex">' in answer.text
    assert '<base target="_blank">' in answer.text
    # Neither the admin's address nor the placeholder of form tokens is in the page.
    assert "/admin/" not in answer.text
    assert re.findall(r'name="form_token" value="([^"]*)"', answer.text) in ([], [""])


@pytest.mark.parametrize("query", ["", "?as=nobody&width=huge", "?as=paid&width=phone"])
async def test_any_choice_in_the_address_is_answered(tenant: TenantWorld, query: str) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await tenant.post(title="<b>Draft</b>", content_html="")
    answer = await browser.get(f"/admin/posts/{post['id']}/preview{query}")
    assert answer.status_code == 200
    assert "&lt;b&gt;Draft&lt;/b&gt;" in answer.text
    assert ("is-phone" in answer.text) is ("phone" in query)


async def test_an_operator_previews_the_texts_of_the_site_they_chose(
    app: World, tenant: TenantWorld
) -> None:
    browser = visitor(app, await app.operator(), "127.0.0.1")
    await browser.post(f"/admin/tenants/{tenant.id}")
    post = await tenant.post(title="Draft", content_html="<p>Text</p>")
    assert "<p>Text</p>" in await framed(browser, f"/admin/posts/{post['id']}/preview")


async def test_a_page_of_the_site_is_previewed_as_a_post_is(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "editor")
    author, _ = await staff(tenant, "author")
    page = await tenant.create("pages", {"title": "About", "content_html": "<p>Who we are</p>"})
    path = f"/admin/pages/{page['id']}/preview"
    assert "Guests read everything." in (await browser.get(path)).text
    shown = await framed(browser, path)
    assert "<h1>About</h1>" in shown
    assert "<p>Who we are</p>" in shown
    for each in (path, f"{path}/page"):
        # Authors have no pages at all.
        assert (await author.get(each)).status_code == 403
