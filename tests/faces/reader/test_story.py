"""A reader's way through a site in Chromium: reads, joins, pays, comments and leaves.

Once with script, once without, and once over our own TLS with HTTP/2. Skipped where the machine has
no Chromium.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.reader.live_site import LiveSite, live_site
from tests.features.payments.processor import joined
from tests.world import PASSWORD

from masthead.engine.records.collection import Record
from masthead.features.members.collection import blog_members
from masthead.features.members.unsubscribe import Unsubscribe

pytestmark = needs_chromium

EMAIL = "ada@example.com"
OPEN, MEMBERS, PAID = "Fog on the sound", "A map of fountains", "Where the money went"


@pytest.fixture(
    params=[
        pytest.param("with-script", marks=pytest.mark.slow("a whole way of a reader in a browser")),
        pytest.param("without-script", marks=pytest.mark.sweep),
        pytest.param("over-tls", marks=pytest.mark.sweep),
    ]
)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def site(way: str, tmp_path: Path) -> AsyncIterator[LiveSite]:
    async with live_site("sqlite", tmp_path, over_tls=way == "over-tls") as site:
        for title, visibility in ((OPEN, "public"), (MEMBERS, "members"), (PAID, "paid")):
            text = f"<p>The whole text of {title}.</p>"
            await site.tenant.published(
                title=title, excerpt="In short.", visibility=visibility, content_html=text
            )
        yield site


@pytest.fixture
async def context(way: str, browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(
        java_script_enabled=way != "without-script", ignore_https_errors=way == "over-tls"
    )
    yield context
    await context.close()


async def read(page: Page, site: LiveSite, title: str) -> None:
    await page.goto(site.origin)
    await page.get_by_role("link", name=title).first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(title)


async def sees(page: Page, title: str, *, is_open: bool) -> None:
    """The whole text, or none of it: also not hidden in the page."""
    text = f"The whole text of {title}."
    if is_open:
        await expect(page.get_by_text(text)).to_be_visible()
    else:
        assert text not in await page.content()


async def open_mailed_link(page: Page, site: LiveSite, button: str) -> None:
    """The link shows a page; its button acts."""
    await page.goto(await site.mailed_link(EMAIL, "/member/link"))
    await page.get_by_role("button", name=button).click()


async def member_of(site: LiveSite) -> Record:
    records = site.tenant.world.parts.records
    (found,) = await records.find(blog_members, {"email": EMAIL}, tenant_id=site.tenant.id)
    return found


async def test_a_reader_reads_joins_pays_comments_and_leaves(
    site: LiveSite, context: BrowserContext, way: str
) -> None:
    page = await context.new_page()
    await read(page, site, OPEN)
    if way == "over-tls":
        spoken = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
        assert await page.evaluate(spoken) == "h2"
    await sees(page, OPEN, is_open=True)
    assert await context.cookies() == []
    await joins(page, site)
    await pays(page, site)
    await comments(page, site)
    await works_in_the_admin_too(page, site)
    await follows_a_changed_address(page, site)
    await signs_out_and_in_again(page, site)
    await unsubscribes(page, site)
    await takes_the_data_along_and_leaves(page, site)


async def joins(page: Page, site: LiveSite) -> None:
    await read(page, site, MEMBERS)
    await sees(page, MEMBERS, is_open=False)
    wall = page.get_by_role("region", name="is for members")
    await wall.get_by_label("Email address", exact=True).fill(EMAIL)
    await wall.get_by_label("Also send me new stories by email").check()
    await wall.get_by_role("button", name="Send me a link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The email is a file")
    await open_mailed_link(page, site, "Confirm and join")
    await expect(page.get_by_role("heading", level=1)).to_have_text(MEMBERS)
    await sees(page, MEMBERS, is_open=True)


async def pays(page: Page, site: LiveSite) -> None:
    await read(page, site, PAID)
    await sees(page, PAID, is_open=False)
    await page.goto(f"{site.origin}/member/tiers")
    await page.get_by_role("button", name="Choose Supporter").click()
    await page.wait_for_url(f"{site.api.url}/c/pay/*")
    # Going back leads to the tiers, not to the page that led away.
    await page.go_back()
    await page.wait_for_url(f"{site.origin}/member/tiers")
    await page.get_by_role("button", name="Choose Supporter").click()
    await page.wait_for_url(f"{site.api.url}/c/pay/*")
    await page.get_by_role("link", name="Pay").click()
    await expect(page.get_by_text("Your payment is being confirmed")).to_be_visible()
    # The signed event makes the member paid. The page shows it by itself.
    details = {"email": EMAIL, "name": "Ada"}
    reference = site.api.last_form["client_reference_id"]
    paid = joined(customer_details=details, client_reference_id=reference)
    await site.processor.send(paid)
    await expect(page.get_by_text("Paid, active")).to_be_visible()
    await page.get_by_role("button", name="Manage").click()
    await page.wait_for_url(f"{site.api.url}/p/pay/*")
    await read(page, site, PAID)
    await sees(page, PAID, is_open=True)


async def comments(page: Page, site: LiveSite) -> None:
    await page.get_by_label("Your comment").fill("Well said.")
    await page.get_by_role("button", name="Post comment").click()
    # A member who joined by email alone has no name yet. What was typed is still there.
    await expect(page.get_by_label("Your comment")).to_have_value("Well said.")
    await page.get_by_label("Name").fill("Ada")
    await page.get_by_role("button", name="Post comment").click()
    comment = page.get_by_role("article").filter(has_text="Well said.")
    await expect(comment).to_be_visible()
    (stored,) = await site.processor.find("comments")
    answer = {"post_id": stored["post_id"], "parent_id": stored["id"], "body": "Thank you."}
    await site.tenant.create("comments", answer | {"author_name": "Nell", "status": "approved"})
    await page.reload()
    await expect(page.get_by_text("Thank you.")).to_be_visible()
    subjects = [mail["subject"] for mail in await site.office.mails()]
    assert any("replied" in subject for subject in subjects), subjects


async def works_in_the_admin_too(page: Page, site: LiveSite) -> None:
    """The browser now has several cookies. HTTP/2 sends each in a field of its own."""
    account = await site.tenant.owner()
    await page.goto(f"{site.origin}/admin/sign-in")
    await page.get_by_label("Email address").fill(account.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await page.goto(f"{site.origin}/admin/more")
    await page.get_by_role("main").get_by_role("button", name="Light or dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    names = {cookie["name"] for cookie in await page.context.cookies()}
    prefix = "__Host-" if site.origin.startswith("https") else ""
    sessions = {"pb_auth", "pb_member_auth"}
    own = {f"{prefix}{name}" for name in (*sessions, "mh_theme", "posted_comments")}
    assert names == sessions | own
    await page.goto(f"{site.origin}/admin/posts")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Posts")
    await page.goto(f"{site.origin}/admin/more")
    await page.get_by_role("main").get_by_role("button", name="Sign out").click()
    await expect(page.get_by_text("You are signed out.")).to_be_visible()


async def follows_a_changed_address(page: Page, site: LiveSite) -> None:
    (post,) = await site.processor.find("posts", title=OPEN)
    await site.tenant.update("posts", post["id"], {"slug": "fog"})
    await site.office.send()
    await page.goto(f"{site.origin}/posts/{post['slug']}")
    assert page.url == f"{site.origin}/posts/fog"


async def signs_out_and_in_again(page: Page, site: LiveSite) -> None:
    await page.goto(f"{site.origin}/member/account")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await read(page, site, MEMBERS)
    await sees(page, MEMBERS, is_open=False)
    await page.goto(f"{site.origin}/member/sign-in")
    await page.get_by_label("Email address", exact=True).fill(EMAIL)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The email is a file")
    await open_mailed_link(page, site, "Sign in")
    await read(page, site, MEMBERS)
    await sees(page, MEMBERS, is_open=True)


async def unsubscribes(page: Page, site: LiveSite) -> None:
    assert (await member_of(site))["newsletter"]
    await page.goto(f"{site.origin}/member/account")
    newsletter = page.get_by_role("switch", name="Newsletter")
    await newsletter.click()
    await expect(newsletter).not_to_be_checked()
    assert not (await member_of(site))["newsletter"]
    await newsletter.click()
    await expect(newsletter).to_be_checked()
    # By the link that is in every newsletter.
    parts = site.tenant.world.parts
    unsubscribe = Unsubscribe(parts.records, parts.keyring)
    await page.goto(unsubscribe.url(site.origin, site.tenant.id, EMAIL))
    assert (await member_of(site))["newsletter"]
    await page.get_by_role("button", name="Unsubscribe").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("You are unsubscribed")
    assert not (await member_of(site))["newsletter"]


async def takes_the_data_along_and_leaves(page: Page, site: LiveSite) -> None:
    await page.goto(f"{site.origin}/member/account")
    await page.get_by_role("button", name="Export my data").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Your data is ready")
    address = await page.get_by_role("main").get_by_role("link").first.get_attribute("href")
    assert address
    document = await (await page.context.request.get(address)).json()
    assert document["member"]["email"] == EMAIL
    await page.goto(f"{site.origin}/member/delete")
    await page.get_by_label("Type DELETE MY DATA").fill("DELETE MY DATA")
    await page.get_by_role("button", name="Delete me").click()
    await expect(page.get_by_text("will be deleted on")).to_be_visible()
