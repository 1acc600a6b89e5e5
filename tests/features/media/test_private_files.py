"""Files that are not everyone's: who opens them, and that others can't tell them from none."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from tests.features.mailings.test_letter import NEWSLETTER
from tests.features.media.pictures import picture
from tests.features.media.test_uses import path_of, uploaded
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.caller import Audience, Reader
from masthead.engine.links.file_uses import uses_of
from masthead.engine.records.fields.base import Access
from masthead.features.mailings.letter import draw_letter
from masthead.features.media.signed_addresses import IN_EMAILS, PARAMETER, sign_file
from masthead.features.site.address import Site

PRIVATE = "private, no-cache"
Item = dict[str, Any]


def addresses(item: Item) -> tuple[str, ...]:
    stored = f"/api/files/media/{item['id']}/{item['file']}"
    return path_of(item), f"{path_of(item)}?thumb=100x100", stored, f"{stored}?thumb=100x100"


async def opens(api: httpx.AsyncClient, item: Item, **query: str) -> bool:
    """At all of its addresses, or at none; where it does not, it is as if it did not exist."""
    found: list[bool] = []
    for address in addresses(item):
        answer = await api.get(address, params=query) if query else await api.get(address)
        missing = await api.get(address.replace(item["id"], "zzzzzzzzzzzzzzz"))
        is_there = answer.status_code == 200
        if not is_there:
            assert (answer.status_code, answer.content) == (404, missing.content)
            assert "cache-control" not in answer.headers or (
                answer.headers["cache-control"] == missing.headers["cache-control"]
            )
        found.append(is_there)
    assert len(set(found)) == 1
    return found[0]


def shows(item: Item) -> str:
    return f'<p>Text</p><img src="{path_of(item)}">'


@pytest.fixture
async def item(owner: Account) -> Item:
    return await uploaded(owner)


async def paid_member(tenant: TenantWorld) -> Account:
    return await tenant.member(tier="paid", status="active")


async def file_token(account: Account) -> str:
    answer = await account.api.post("/api/files/token")
    assert answer.status_code == 200
    token: str = answer.json()["token"]
    return token


class TestUses:
    async def test_a_file_that_nothing_has_used_is_everyones(
        self, tenant: TenantWorld, item: Item
    ) -> None:
        assert await opens(tenant.guest, item)
        assert (await tenant.guest.get(path_of(item))).headers["cache-control"] != PRIVATE

    async def test_a_draft_closes_it_and_publishing_opens_it(
        self, tenant: TenantWorld, owner: Account, member: Account, item: Item
    ) -> None:
        post = await tenant.post(content_html=shows(item))
        assert not await opens(tenant.guest, item)
        assert not await opens(member.api, item)
        assert await opens(owner.api, item)
        await tenant.update("posts", post["id"], {"status": "published"})
        assert await opens(tenant.guest, item)
        await tenant.update("posts", post["id"], {"status": "draft"})
        assert not await opens(tenant.guest, item)

    @pytest.mark.parametrize("visibility", ["members", "paid"])
    async def test_a_gated_post(
        self, tenant: TenantWorld, member: Account, item: Item, visibility: str
    ) -> None:
        html = f"<p>Opening</p><!--more-->{shows(item)}"
        await tenant.published(content_html=html, visibility=visibility)
        assert not await opens(tenant.guest, item)
        assert await opens(member.api, item) is (visibility == "members")
        assert await opens((await paid_member(tenant)).api, item)

    async def test_what_a_gated_post_shows_to_everyone(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        cover = await uploaded(owner, "cover.png")
        html = f"{shows(item)}<!--more--><p>Rest</p>"
        await tenant.published(content_html=html, visibility="paid", featured_image=path_of(cover))
        assert await opens(tenant.guest, item)
        assert await opens(tenant.guest, cover)

    async def test_one_open_use_is_enough(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        await tenant.post(content_html=shows(item))
        opening = await tenant.published(content_html=shows(item))
        await tenant.published(content_html=shows(item), visibility="paid")
        assert await opens(tenant.guest, item)
        await owner.api.delete(records_of("posts", opening["id"]))
        assert not await opens(tenant.guest, item)

    async def test_the_trash_closes_it_and_a_restore_opens_it(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        post = await tenant.published(content_html=shows(item))
        await owner.api.delete(records_of("posts", post["id"]))
        assert not await opens(tenant.guest, item)
        assert await opens(owner.api, item)
        key = await key_client(tenant)
        answer = await key.post(f"/api/v1/trash/{post['id']}/restore")
        assert answer.status_code == 200
        assert await opens(tenant.guest, item)

    async def test_a_later_date(self, tenant: TenantWorld, member: Account, item: Item) -> None:
        tomorrow = clock.to_text(tenant.world.clock() + timedelta(days=1))
        post = await tenant.published(content_html=shows(item), published_at=tomorrow)
        assert not await opens(tenant.guest, item)
        assert not await opens(member.api, item)
        tenant.world.clock.advance(days=1, seconds=5)
        assert await opens(tenant.guest, item)
        # Saved once more, and taken back: nothing of the first save is left.
        await tenant.update("posts", post["id"], {"title": "Later"})
        assert await opens(tenant.guest, item)
        await tenant.update("posts", post["id"], {"status": "draft"})
        assert not await opens(tenant.guest, item)

    async def test_an_email_without_a_page(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        await tenant.published(content_html=shows(item), email_only=True)
        assert not await opens((await paid_member(tenant)).api, item)
        assert await opens(owner.api, item)

    async def test_settings_pages_and_authors(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        await tenant.post(content_html=shows(item))
        await tenant.settings(site_logo=path_of(item))
        assert await opens(tenant.guest, item)
        await tenant.settings(site_logo="")
        assert not await opens(tenant.guest, item)
        await tenant.update("_superusers", owner.id, {"picture": path_of(item)})
        assert await opens(tenant.guest, item)
        await tenant.update("_superusers", owner.id, {"picture": ""})
        page = {"title": "About", "content_html": shows(item)}
        about = await tenant.create("pages", page)
        assert not await opens(tenant.guest, item)
        await tenant.update("pages", about["id"], {"status": "published"})
        assert await opens(tenant.guest, item)


class TestPrivate:
    @pytest.fixture
    async def item(self, owner: Account) -> Item:
        return await uploaded(owner, private="true")

    async def test_it_is_staffs_alone(
        self, tenant: TenantWorld, owner: Account, operator: Account, member: Account, item: Item
    ) -> None:
        assert item["private"] is True
        assert not await opens(tenant.guest, item)
        assert not await opens(member.api, item)
        for role in ("owner", "editor", "author"):
            assert await opens((await tenant.owner(role=role)).api, item)
        assert await opens(operator.api, item)
        assert await opens(tenant.world.client(tenant.host, token=operator.token), item)

    async def test_an_open_post_shows_it_to_members(
        self, tenant: TenantWorld, member: Account, item: Item
    ) -> None:
        await tenant.published(content_html=shows(item))
        assert not await opens(tenant.guest, item)
        assert await opens(member.api, item)

    async def test_nobody_of_another_site(
        self, tenant: TenantWorld, other_tenant: TenantWorld, item: Item
    ) -> None:
        await tenant.published(content_html=shows(item), visibility="members")
        for stranger in (await other_tenant.owner(), await paid_member(other_tenant)):
            for host in (tenant.host, "localhost"):
                assert not await opens(tenant.world.client(host, token=stranger.token), item)
                token = await file_token(stranger)
                assert not await opens(tenant.world.client(host), item, token=token)

    async def test_cookies(self, tenant: TenantWorld, owner: Account, item: Item) -> None:
        for name, value, expected in (
            ("pb_auth", owner.token, 200),
            ("pb_member_auth", owner.token, 404),
            ("pb_auth", owner.token[:-2], 404),
        ):
            cookie = {"cookie": f"{name}={value}"}
            answer = await tenant.guest.get(path_of(item), headers=cookie)
            assert answer.status_code == expected

    async def test_a_browser_alone_keeps_it(self, owner: Account, item: Item) -> None:
        for address in addresses(item):
            answer = await owner.api.get(address)
            assert answer.headers["cache-control"] == PRIVATE
            assert "Cookie" in answer.headers["vary"]
            assert "Authorization" in answer.headers["vary"]

    async def test_parts_and_heads(self, tenant: TenantWorld, owner: Account, item: Item) -> None:
        wanted = {"range": "bytes=1-3"}
        part = await owner.api.get(path_of(item), headers=wanted)
        assert (part.status_code, part.content) == (206, b"PNG")
        assert part.headers["cache-control"] == PRIVATE
        assert (await owner.api.head(path_of(item))).status_code == 200
        for answer in (
            await tenant.guest.get(path_of(item), headers=wanted),
            await tenant.guest.head(path_of(item)),
            await tenant.guest.get(path_of(item), headers={"if-none-match": "*"}),
            await tenant.guest.get(path_of(item), headers={"if-modified-since": "x"}),
        ):
            assert answer.status_code == 404
            assert not {"etag", "last-modified", "accept-ranges"} & set(answer.headers)

    async def test_the_address_of_a_replaced_file(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        files = {"file": ("b.png", picture("PNG"))}
        await owner.api.patch(records_of("media", item["id"]), files=files)
        assert (await tenant.guest.get(path_of(item))).status_code == 404

    async def test_keys(self, tenant: TenantWorld, other_tenant: TenantWorld, item: Item) -> None:
        assert await opens(await key_client(tenant, "media:read"), item)
        assert not await opens(await key_client(tenant, "posts:read"), item)
        foreign = await key_client(other_tenant, "media:read", host=tenant.host)
        assert not await opens(foreign, item)


class TestTokens:
    @pytest.fixture
    async def item(self, owner: Account) -> Item:
        return await uploaded(owner, private="true")

    async def test_two_minutes(self, tenant: TenantWorld, owner: Account, item: Item) -> None:
        token = await file_token(owner)
        assert await opens(tenant.guest, item, token=token)
        tenant.world.clock.advance(seconds=119)
        assert await opens(tenant.guest, item, token=token)
        tenant.world.clock.advance(seconds=2)
        assert not await opens(tenant.guest, item, token=token)

    async def test_it_opens_files_and_nothing_else(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        token = await file_token(owner)
        stolen = tenant.world.client(tenant.host, token=token)
        assert (await stolen.post("/api/files/token")).status_code == 401
        await tenant.member()
        assert (await stolen.get(records_of("blog_members"))).json()["items"] == []

    async def test_what_is_no_token(self, tenant: TenantWorld, owner: Account, item: Item) -> None:
        token = await file_token(owner)
        # A session's token in an address ends up in logs: it is none.
        wrong = (owner.token, token[:-3], token + "x", "x", "a.b.c", "é" * 50, "x" * 1900)
        for each in wrong:
            assert not await opens(tenant.guest, item, token=each)

    async def test_it_ends_with_the_session(
        self, tenant: TenantWorld, owner: Account, item: Item
    ) -> None:
        records, superusers = tenant.world.parts.records, tenant.world.collection("_superusers")
        found = await records.find(superusers, {"id": owner.id}, tenant_id=tenant.id)
        account = await tenant.world.signed_in(superusers, found[0], tenant.host)
        token = await file_token(account)
        assert await opens(tenant.guest, item, token=token)
        caller = await tenant.world.parts.accounts.sessions.caller_of(account.token)
        assert caller is not None
        await tenant.world.parts.accounts.sign_ins.end(superusers, found[0], caller.sign_in)
        assert not await opens(tenant.guest, item, token=token)

    async def test_a_members(self, tenant: TenantWorld, owner: Account, member: Account) -> None:
        for visibility, expected in (("members", True), ("paid", False)):
            gated = await uploaded(owner, f"{visibility}.png")
            await tenant.published(content_html=shows(gated), visibility=visibility)
            token = await file_token(member)
            assert await opens(tenant.guest, gated, token=token) is expected


class TestSignedAddresses:
    async def test_they_open_one_file_until_their_end(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, private="true")
        other = await uploaded(owner, "other.png", private="true")
        keyring, until = app.parts.keyring, app.clock() + IN_EMAILS
        signed = sign_file(keyring, tenant.id, item["id"], until)
        assert await opens(tenant.guest, item, **{PARAMETER: signed})
        assert not await opens(tenant.guest, other, **{PARAMETER: signed})
        end, _, signature = signed.partition(".")
        foreign = sign_file(keyring, other_tenant.id, item["id"], until)
        later = f"{int(end, 16) + 1:x}.{signature}"
        for wrong in (foreign, later, end, f".{signature}", "zz.zz", "é.é", "1" * 90):
            assert not await opens(tenant.guest, item, **{PARAMETER: wrong})
        app.clock.advance(days=IN_EMAILS.days + 1)
        assert not await opens(tenant.guest, item, **{PARAMETER: signed})


class TestTexts:
    """Texts for guests never name a file that would not open for them."""

    async def test_pages_feeds_and_answers_for_guests(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        hidden = await uploaded(owner, "hidden.png", private="true")
        shown = await uploaded(owner, "shown.png")
        html = (
            f'{shows(hidden)}<figure><img src="{path_of(shown)}"></figure>'
            f'<p><a href="{path_of(hidden)}">The file</a></p>'
        )
        post = await tenant.published(content_html=html, featured_image=path_of(hidden))
        page, stored = f"/posts/{post['slug']}", records_of("posts", post["id"])
        for address in (page, "/", "/feed.xml", "/atom.xml", "/feed.json", stored):
            answer = await tenant.guest.get(address)
            assert answer.status_code == 200, address
            assert hidden["id"] not in answer.text, address
        listed = await tenant.guest.get(records_of("posts"))
        assert hidden["id"] not in listed.text
        assert shown["id"] in listed.text
        assert "The file" in listed.text
        for reader in (await member.api.get(page), await owner.api.get(stored)):
            assert hidden["id"] in reader.text

    async def test_the_editors_document_for_guests(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        hidden = await uploaded(owner, "hidden.png", private="true")
        shown = await uploaded(owner, "shown.png")
        link = {"type": "link", "attrs": {"href": path_of(hidden)}}
        words = {"type": "text", "text": "The file", "marks": [link, {"type": "bold"}]}
        pictures = [
            {"type": "image", "attrs": {"src": path_of(each), "alt": ""}}
            for each in (hidden, shown)
        ]
        content = [*pictures, {"type": "paragraph", "content": [words]}]
        post = await tenant.published(content_json={"type": "doc", "content": content})
        stored = records_of("posts", post["id"])
        for address in (stored, records_of("posts")):
            answer = await tenant.guest.get(address)
            assert hidden["id"] not in answer.text
            assert shown["id"] in answer.text
        document = (await tenant.guest.get(stored)).json()["content_json"]
        left = {**words, "marks": [{"type": "bold"}]}
        paragraph = {"type": "paragraph", "content": [left]}
        assert document == {"type": "doc", "content": [pictures[1], paragraph]}
        for reader in (member, owner):
            assert (await reader.api.get(stored)).json()["content_json"] == post["content_json"]

    async def test_a_document_of_any_depth(self, tenant: TenantWorld, owner: Account) -> None:
        hidden = await uploaded(owner, private="true")
        deep: list[Any] = [path_of(hidden)]
        for _ in range(700):
            deep = [deep]
        post = await tenant.published(content_json=deep)
        answer = await tenant.guest.get(records_of("posts", post["id"]))
        assert (answer.status_code, answer.json()["content_json"]) == (200, None)

    async def test_the_sites_own_pictures(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        """Without a logo, a page shows the site's name."""
        names = ("logo.png", "icon.png", "face.png")
        logo, icon, face = [await uploaded(owner, each) for each in names]
        await tenant.settings(site_logo=path_of(logo), site_favicon=path_of(icon))
        profile = {"picture": path_of(face), "name": "Ada", "slug": "ada"}
        await tenant.update("_superusers", owner.id, profile)
        post = await tenant.published(authors=[owner.id])
        pages = ("/", f"/posts/{post['slug']}", "/authors/ada")
        assert logo["id"] in (await tenant.guest.get("/")).text
        assert face["id"] in (await tenant.guest.get("/authors/ada")).text
        for each in (logo, icon, face):
            await tenant.update("media", each["id"], {"private": True})
        for page in pages:
            text = (await tenant.guest.get(page)).text
            assert not [each for each in (logo, icon, face) if each["id"] in text], page
        text = (await member.api.get("/")).text
        assert logo["id"] in text
        assert icon["id"] in text
        assert await opens(member.api, logo)

    def test_no_relation_of_guests_leads_to_a_text_with_files(self, app: World) -> None:
        """Otherwise an expansion would name files that don't open."""
        registry = app.parts.records.registry
        readable = [each for each in registry.collections if each.rules.read is not None]
        for collection in readable:
            targets = {registry[each.to] for each in collection.pointers}
            leading = {
                each
                for each in readable
                if any(p.to == collection.name and p.read < Access.SITE for p in each.pointers)
            }
            for each in (targets & set(readable)) | leading:
                assert uses_of(each) is None, (collection.name, each.name)

    async def test_a_letter_opens_what_it_shows(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        item, shared = await uploaded(owner), await uploaded(owner, "shared.png")
        html = f'{shows(item)}<a href="{path_of(item)}">File</a><img src="{path_of(shared)}">'
        post = await tenant.published(content_html=html, visibility="paid")
        await tenant.published(content_html=shows(shared))
        records = app.parts.records
        letter = await draw_letter(
            records,
            tenant_id=tenant.id,
            site=Site(tenant.slug, f"http://{tenant.host}"),
            newsletter=NEWSLETTER,
            post=post,
            reader=Reader(Audience.PAID),
        )
        signed = re.findall(rf"/media/{item['id']}/[^\"\s)>]+", letter.html + letter.text)
        assert len(signed) >= 2
        for address in signed:
            assert (await tenant.guest.get(unescape(address))).status_code == 200
        assert f"/media/{shared['id']}" in letter.html
        assert f"{path_of(shared)}?{PARAMETER}" not in letter.html
