"""Share links: a draft for people without an account, and nobody else's anything."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx
import pytest
from tests.content.cards.every_card import OWN_HTML, every_card
from tests.faces.admin.visitor import Visitor, staff
from tests.faces.record_api.test_roles import upload
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.access_log import shown_path
from masthead.base.caller import system
from masthead.base.config.tokens import hash_token
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import delete_expired
from masthead.faces.reader.card_views import digest_of
from masthead.faces.reader.pages.html_cards import address_of
from masthead.features.posts.collection import posts
from masthead.features.posts.draft_links import draft_links

LINK = re.compile(r"https?://[^\s<]+(/draft/[\w-]+)")
IMAGE = re.compile(r'src="([^"]*/media/[^"]*)"')
TEXT = '<p>The opening.</p><hr class="paywall"><p>Behind the wall.</p>'


@pytest.fixture
async def owner(tenant: TenantWorld) -> tuple[Visitor, Account]:
    return await staff(tenant, "owner", name="Nell Ashby")


async def made(browser: Visitor, post: Record) -> str:
    """The path of a new link."""
    answer = await browser.post(f"/admin/posts/{post['id']}/share")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] in ("no-store", "private, no-store")
    return LINK.findall(answer.text)[0]


async def opened(tenant: TenantWorld, path: str) -> httpx.Response:
    return await tenant.guest.get(path)


async def test_a_guest_reads_all_of_a_draft(
    app: World, tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    post = await tenant.post(title="Eels", visibility="paid", content_html=TEXT)
    first, second = [await made(owner[0], post) for _ in range(2)]
    for path in (first, second):
        answer = await opened(tenant, path)
        assert answer.status_code == 200
        assert "Behind the wall." in answer.text
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "noindex" in answer.headers["x-robots-tag"]
        assert "etag" not in answer.headers
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (await tenant.guest.head(path)).status_code == 200
    await tenant.update("posts", post["id"], {"content_html": "<p>Changed.</p>"})
    assert "Changed." in (await opened(tenant, first)).text
    page = (await owner[0].get(f"/admin/posts/{post['id']}/share")).text
    assert page.count("/end") == 2
    assert "Nell Ashby" in page
    # Shown once, and stored as a hash.
    assert "/draft/" not in page
    found = await app.parts.records.find(draft_links, {}, tenant_id=tenant.id, limit=9)
    assert {each["token_hash"] for each in found} == {
        hash_token(path.rpartition("/")[2]) for path in (first, second)
    }
    shown = (await owner[1].api.get(records_of("draft_links"))).text
    assert "token_hash" not in shown


async def test_it_shows_changes_that_are_not_live(
    tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    """An integration has taken the post down."""
    post = await tenant.post(title="Eels", content_html="<p>Old.</p>")
    copy = {"post_id": post["id"], "title": "Eels, again", "content_html": "<p>New.</p>"}
    await tenant.create("post_working_copies", copy)
    answer = await opened(tenant, await made(owner[0], post))
    assert "New." in answer.text
    assert "Old." not in answer.text


async def test_once_published_it_leads_to_the_page(
    tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    post = await tenant.post(title="Eels", slug="eels", visibility="paid", content_html=TEXT)
    path = await made(owner[0], post)
    await tenant.update("posts", post["id"], {"status": "published"})
    answer = await opened(tenant, path)
    assert (answer.status_code, answer.headers["location"]) == (302, "/posts/eels")
    assert "Behind the wall." not in (await opened(tenant, "/posts/eels")).text
    refused = await owner[0].post(f"/admin/posts/{post['id']}/share")
    assert refused.status_code in (400, 409)
    await tenant.update("posts", post["id"], {"email_only": True})
    assert (await opened(tenant, path)).status_code == 404


async def test_it_ends(app: World, tenant: TenantWorld, owner: tuple[Visitor, Account]) -> None:
    post = await tenant.post(title="Eels")
    ended, expired, deleted = [await made(owner[0], post) for _ in range(3)]
    share = f"/admin/posts/{post['id']}/share"
    records = app.parts.records
    by = {"token_hash": hash_token(ended.rpartition("/")[2])}
    link = await records.require(draft_links, by, tenant_id=tenant.id)
    assert (await owner[0].post(f"{share}/{link['id']}/end")).status_code == 303
    assert (await opened(tenant, ended)).status_code == 404
    assert (await opened(tenant, expired)).status_code == 200
    app.clock.advance(days=29, hours=23)
    assert (await opened(tenant, expired)).status_code == 200
    app.clock.advance(hours=1)
    assert (await opened(tenant, expired)).status_code == 404
    await delete_expired(records, draft_links)
    assert await records.find(draft_links, {}, tenant_id=tenant.id) == []
    browser, _ = await staff(tenant, "owner")
    deleted = await made(browser, post)
    await tenant.world.parts.records.delete(
        system(tenant.id), tenant.world.collection("posts"), post["id"]
    )
    assert (await opened(tenant, deleted)).status_code == 404


async def test_no_other_token_opens_anything(
    tenant: TenantWorld, other_tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    post = await tenant.post(title="Eels")
    path = await made(owner[0], post)
    token = path.rpartition("/")[2]
    assert len(token) == 43
    for wrong in (
        token[:-1],
        f"{token}A",
        token.swapcase(),
        hash_token(token),
        "",
        "%00",
        "../posts",
        "' OR 1=1 --",
        "x" * 5_000,
        post["id"],
    ):
        answer = await opened(tenant, f"/draft/{wrong}")
        assert answer.status_code in (301, 303, 404), wrong
        assert "Eels" not in answer.text
    assert (await opened(other_tenant, path)).status_code == 404


async def test_private_pictures_of_the_draft_are_shown_and_no_others(
    tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    browser, account = owner
    private, other = [(await upload(account)).json() for _ in range(2)]
    for each in (private, other):
        await account.api.patch(records_of("media", each["id"]), json={"private": True})
    html = f'<p>Look:</p><figure><img src="{private["url"]}" alt="A dot"></figure>'
    post = await tenant.post(title="Eels", content_html=html)
    assert (await opened(tenant, urlsplit(private["url"]).path)).status_code == 404
    page = (await opened(tenant, await made(browser, post))).text
    addresses = [each.replace("&amp;", "&") for each in IMAGE.findall(page)]
    assert addresses
    for each in addresses:
        parts = urlsplit(each)
        assert (await opened(tenant, f"{parts.path}?{parts.query}")).status_code == 200
        # It opens this file, and for an hour.
        forged = urlsplit(other["url"]).path
        assert (await opened(tenant, f"{forged}?{parts.query}")).status_code == 404
    tenant.world.clock.advance(hours=1, seconds=1)
    assert (await opened(tenant, f"{parts.path}?{parts.query}")).status_code == 404


async def test_a_link_opens_no_file_that_its_maker_may_not_see(
    tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    """Anyone can write the address of a file into a draft."""
    theirs = (await upload(owner[1])).json()
    await owner[1].api.patch(records_of("media", theirs["id"]), json={"private": True})
    browser, contributor = await staff(tenant, "contributor")
    html = f'<p><img src="{theirs["url"]}" alt=""></p>'
    post = await tenant.post(title="Mine", authors=[contributor.id], content_html=html)
    page = (await opened(tenant, await made(browser, post))).text
    assert theirs["id"] in page
    assert "signed=" not in page


async def test_links_are_for_those_who_may_edit_the_post(
    tenant: TenantWorld, other_tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    post = await tenant.post(title="Eels")
    path = await made(owner[0], post)
    page = (await owner[0].get(f"/admin/posts/{post['id']}/share")).text
    [end] = re.findall(r'action="([^"]*/end)"', page)
    author, account = await staff(tenant, "author")
    contributor, writer = await staff(tenant, "contributor")
    stranger, _ = await staff(other_tenant, "owner")
    for browser in (author, contributor, stranger):
        share = f"/admin/posts/{post['id']}/share"
        assert (await browser.get(share)).status_code == 404
        assert (await browser.post(share)).status_code == 404
        assert (await browser.post(end)).status_code == 404
    own = await tenant.post(title="Own", authors=[account.id])
    forged = end.replace(post["id"], own["id"])
    assert (await author.post(forged)).status_code == 404
    assert (await opened(tenant, path)).status_code == 200
    mine = await tenant.post(title="Mine", authors=[writer.id])
    assert (await opened(tenant, await made(contributor, mine))).status_code == 200
    await tenant.update("posts", mine["id"], {"status": "published"})
    page = (await contributor.get(f"/admin/posts/{mine['id']}/share")).text
    assert "Make a link" not in page
    assert (await contributor.post(f"/admin/posts/{mine['id']}/share")).status_code == 409
    made_by_program = await owner[1].api.post(
        records_of("draft_links"), json={"post_id": post["id"]}
    )
    assert made_by_program.status_code == 403


def test_the_log_has_no_token() -> None:
    assert shown_path("/draft/abc") == "/draft/***"


async def test_an_authors_own_html_in_a_draft_has_no_page_of_its_own(
    tenant: TenantWorld, owner: tuple[Visitor, Account]
) -> None:
    """A link that shows a draft opens nothing else: neither a frame of it nor its address."""
    document = {"type": "doc", "content": [every_card()["html"]]}
    post = await tenant.post(title="Eels", content_json=document)
    answer = await opened(tenant, await made(owner[0], post))
    assert "Vote here" in answer.text
    assert "/share/html/" not in answer.text
    address = f"{address_of(posts, post['id'])}{digest_of(OWN_HTML)}"
    assert (await opened(tenant, address)).status_code == 404
    await tenant.update("posts", post["id"], {"status": "published"})
    assert (await opened(tenant, address)).status_code == 200
