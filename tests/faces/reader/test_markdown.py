"""Programs read the site as Markdown, and an owner says which of them may."""

from __future__ import annotations

import pytest
from tests.world import TenantWorld

from masthead.faces.reader.machines import AI_CRAWLERS

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"
MEMBERS_TEXT = '<p>The opening.</p><hr class="paywall"><p>The secret.</p>'


async def test_a_post_is_markdown_at_its_address_with_md(tenant: TenantWorld) -> None:
    await tenant.published(
        title="Fog *signals*", slug="fog", content_html='<p>A <b>horn</b>, <a href="/b">b</a></p>'
    )
    answer = await tenant.guest.get("/posts/fog.md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["x-robots-tag"] == "noindex"
    address = f"http://{tenant.host}"
    title, facts, text = answer.text.rstrip("\n").split("\n\n")
    assert title == "# Fog \\*signals\\*"
    assert facts.endswith(f"<{address}/posts/fog>")
    assert text == f"A **horn**, [b]({address}/b)"


@pytest.mark.parametrize("accept", ["text/markdown", f"text/markdown, {BROWSER}"])
async def test_a_program_that_prefers_markdown_gets_it_at_the_page(
    tenant: TenantWorld, accept: str
) -> None:
    await tenant.published(title="Fog", slug="fog", content_html="<p>Horn</p>")
    await tenant.create(
        "pages",
        {"title": "About", "slug": "about", "status": "published", "content_html": "<p>Us</p>"},
    )
    for path in ("/posts/fog", "/about"):
        page = await tenant.guest.get(path, headers={"accept": BROWSER})
        written = await tenant.guest.get(path, headers={"accept": accept})
        again = await tenant.guest.get(path, headers={"accept": BROWSER})
        assert written.headers["content-type"].startswith("text/markdown")
        assert "Accept" in written.headers.get_list("vary")
        assert page.text == again.text
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["etag"] != written.headers["etag"]
        assert written.text == (await tenant.guest.get(f"{path}.md")).text


async def test_a_browser_that_also_takes_markdown_gets_the_page(tenant: TenantWorld) -> None:
    await tenant.published(title="Fog", slug="fog")
    answer = await tenant.guest.get("/posts/fog", headers={"accept": "text/html, text/markdown"})
    assert answer.headers["content-type"].startswith("text/html")


async def test_markdown_is_what_a_guest_may_read_also_for_a_member(tenant: TenantWorld) -> None:
    await tenant.published(title="Deep", slug="deep", visibility="paid", content_html=MEMBERS_TEXT)
    member = await tenant.member(tier="paid")
    for client in (tenant.guest, member.api):
        text = (await client.get("/posts/deep.md")).text
        assert "secret" not in text
        assert text.endswith("*The rest of this post is for paid members.*\n")


async def test_a_draft_and_an_unknown_text_have_no_markdown(tenant: TenantWorld) -> None:
    await tenant.post(title="Draft", slug="draft")
    for path in ("/posts/draft.md", "/posts/nothing.md", "/nothing.md", "/.md", "/a/b.md"):
        assert (await tenant.guest.get(path)).status_code == 404


async def test_llms_txt_lists_public_posts_and_pages(tenant: TenantWorld) -> None:
    await tenant.settings(site_name="Tide [water]", site_description="About\nthe sea")
    await tenant.published(title="Open", slug="open", excerpt="What is open")
    await tenant.published(title="Closed", slug="closed", visibility="members")
    await tenant.create("pages", {"title": "About", "slug": "about", "status": "published"})
    answer = await tenant.guest.get("/llms.txt")
    address = f"http://{tenant.host}"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == (
        "# Tide \\[water\\]\n\n> About the sea\n\n"
        f"## Posts\n\n- [Open]({address}/posts/open.md): What is open\n\n"
        f"## Pages\n\n- [About]({address}/about.md)\n"
    )


async def test_a_site_may_ask_ai_crawlers_to_stay_away(tenant: TenantWorld) -> None:
    await tenant.settings(crawlers="search")
    await tenant.published(title="Fog", slug="fog")
    robots = (await tenant.guest.get("/robots.txt")).text
    everyone, ai, _ = robots.split("\n\n")
    assert "Disallow: /\n" not in everyone + "\n"
    assert ai.splitlines() == [*(f"User-agent: {each}" for each in AI_CRAWLERS), "Disallow: /"]
    for path in ("/", "/posts/fog", "/posts/fog.md", "/member/sign-in", "/nothing"):
        answer = await tenant.guest.get(path)
        assert "noai, noimageai" in answer.headers.get_list("x-robots-tag", split_commas=False)
    assert (await tenant.guest.get("/llms.txt")).status_code == 200


async def test_a_site_may_want_no_crawlers(tenant: TenantWorld) -> None:
    await tenant.settings(crawlers="none")
    await tenant.published(title="Fog", slug="fog")
    assert (await tenant.guest.get("/robots.txt")).text == "User-agent: *\nDisallow: /\n"
    for path in ("/llms.txt", "/posts/fog.md"):
        assert (await tenant.guest.get(path)).status_code == 404
    page = await tenant.guest.get("/posts/fog", headers={"accept": BROWSER})
    assert page.status_code == 200
