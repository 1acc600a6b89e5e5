"""The page of the design: theme, fonts, links in their order, announcement, logos and code, and a
preview that saves nothing."""

from __future__ import annotations

import io
import re
from typing import Any

import httpx
import pytest
from lxml import html
from PIL import Image
from tests.faces.admin.test_settings import DESIGN, stored
from tests.faces.admin.visitor import OWN, Visitor, staff
from tests.world import TenantWorld

from masthead.features.media.collection import media

FORM = {
    "theme": "plain",
    "fonts": "",
    "width": "",
    "home_layout": "",
    "accent_color": "",
    "has_navigation": "1",
    "has_footer_links": "1",
    "footer_text": "",
    "social": "",
    "announcement_text": "",
    "announcement_url": "",
    "announcement_until": "",
}


async def saved(owner: Visitor, **form: Any) -> str:
    return await owner.follow(await owner.post(DESIGN, FORM | form))


def link(row: int, label: str, url: str, place: str = "") -> dict[str, str]:
    start = f"navigation.{row}"
    return {f"{start}.label": label, f"{start}.url": url, f"{start}.place": place or str(row + 1)}


class TestDesign:
    async def test_the_site_follows_at_once(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog")
        owner, _ = await staff(tenant, "owner")
        page = await saved(
            owner,
            theme="letter",
            fonts="sans",
            accent_color="#00695c",
            footer_text="Made by the sea.\r\nSince 2019.",
            social="https://github.com/tideline\r\n\r\nhttps://social.example/@tideline",
            announcement_text="The winter issue",
            announcement_url="/winter",
            announcement_until="2999-01-01T09:00",
            **link(0, "About us", "/about"),
            **{"footer_links.0.label": "Privacy", "footer_links.0.url": "/privacy"},
        )
        assert "Saved. The change is live." in page
        after = (await tenant.guest.get("/")).text
        for part in (
            *("/assets/letter/theme-", 'data-fonts="sans"', "/assets/site/accent-00695c-"),
            *('<a href="/about"', "Made by the sea.", "Since 2019.", '<a href="/privacy"'),
            *('rel="me">GitHub', 'rel="me">Mastodon', "The winter issue", 'href="/winter"'),
        ):
            assert part in after, part
        assert (await stored(tenant))["announcement"]["until"] == "2999-01-01T09:00:00.000Z"
        # The form shows it again, and takes it back.
        form = html.document_fromstring((await owner.get(DESIGN)).text).get_element_by_id(
            "design-form"
        )
        shown = dict(form.form_values())
        assert (shown["theme"], shown["announcement_until"]) == ("letter", "2999-01-01T09:00")
        assert shown["social"].split() == [
            "https://github.com/tideline",
            "https://social.example/@tideline",
        ]
        await saved(owner)
        record = await stored(tenant)
        assert (record["announcement"], record["social"]) == (None, [])

    async def test_links_get_the_order_of_their_numbers(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        await saved(
            owner, **link(0, "One", "/1", "3"), **link(1, "Two", "/2"), **link(3, "Four", "/4", "1")
        )
        names = [each["label"] for each in (await stored(tenant))["navigation"]]
        assert names == ["Four", "Two", "One"]
        for odd in ("", "x", "-1", "99999", "٣"):
            await saved(owner, **link(0, "One", "/1"), **link(1, "Two", "/2", odd))
            assert len((await stored(tenant))["navigation"]) == 2
        page = (await owner.get(DESIGN)).text
        assert 'name="navigation.1.url" value="/2"' in page
        assert 'name="navigation.3.label" value=""' in page

    @pytest.mark.parametrize(
        ("form", "field"),
        [
            ({"theme": "harbour"}, "theme"),
            ({"fonts": "comic"}, "fonts"),
            ({"accent_color": "red"}, "accent_color"),
            (link(0, "Bad", "javascript:alert(1)"), "navigation"),
            (link(0, "", "/x"), "navigation"),
            ({"social": "nowhere"}, "social"),
            ({"announcement_text": "x", "announcement_url": "no"}, "announcement"),
            ({"announcement_text": "", "announcement_url": "/x"}, "announcement"),
            ({"announcement_text": "x", "announcement_until": "soon"}, "announcement"),
        ],
    )
    async def test_what_is_wrong_is_said_at_its_field(
        self, tenant: TenantWorld, form: dict[str, str], field: str
    ) -> None:
        owner, _ = await staff(tenant, "owner")
        before = await stored(tenant)
        answer = await owner.post(DESIGN, FORM | {"footer_text": "Typed"} | form)
        assert answer.status_code == 422
        page = html.document_fromstring(answer.text)
        assert page.xpath("//*[@id='problems']//a/@href") == [f"#{field}"]
        assert len(page.xpath(f"//*[@id='{field}']")) == 1
        assert "Typed" in answer.text
        assert await stored(tenant) == before


class TestThePreview:
    async def test_shows_the_form_to_its_owner_and_saves_nothing(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog", content_html="<p>Thick.</p>")
        owner, _ = await staff(tenant, "owner")
        before = await stored(tenant)
        path = f"{DESIGN}/preview"
        assert "/assets/letter/" not in (await owner.get(path)).text
        tried = FORM | {"theme": "letter", "announcement_text": "Soon", "accent_color": "red"}
        answer = await owner.post(path, tried)
        assert answer.status_code == 200
        assert "/assets/letter/theme-" in answer.text
        assert "Soon" in answer.text
        assert "no-store" in answer.headers["cache-control"]
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'self'" in policy
        assert "unsafe" not in policy
        assert "Thick." in (await owner.post(path, tried | {"shown": "post"})).text
        assert await stored(tenant) == before
        assert "Soon" not in (await tenant.guest.get("/")).text
        # Nor does anything that can't be saved break it.
        odd = {"theme": "../x", "announcement_until": "soon", "social": "x", "fonts": "comic"}
        assert (await owner.post(path, FORM | odd)).status_code == 200

    async def test_has_no_code(self, tenant: TenantWorld) -> None:
        await tenant.settings(code_allowed=True)
        await tenant.settings(head_html="<script>x()</script>")
        owner, _ = await staff(tenant, "owner")
        for answer in (
            await owner.get(f"{DESIGN}/preview"),
            await owner.post(f"{DESIGN}/preview", FORM | {"head_html": "<script>x()</script>"}),
        ):
            assert "x()" not in answer.text

    async def test_is_for_owners(self, tenant: TenantWorld) -> None:
        for role in ("editor", "author", "contributor"):
            browser, _ = await staff(tenant, role)
            assert (await browser.get(f"{DESIGN}/preview")).status_code == 403
            assert (await browser.post(f"{DESIGN}/preview", FORM)).status_code == 403
        guest = await tenant.guest.post(f"{DESIGN}/preview", data=FORM, headers=OWN)
        assert guest.status_code in (401, 403)
        owner, _ = await staff(tenant, "owner")
        from_elsewhere = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
        refused = await owner.api.post(f"{DESIGN}/preview", data=FORM, headers=from_elsewhere)
        assert refused.status_code == 403


class TestCode:
    async def test_is_shown_where_the_operator_allows_it(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        assert 'name="head_html"' not in (await owner.get(DESIGN)).text
        code = {"head_html": "<meta name=x>", "foot_html": ""}
        refused = await owner.post(f"{DESIGN}/code", code)
        assert (refused.status_code, "has not allowed code" in refused.text) == (422, True)
        await tenant.settings(code_allowed=True)
        assert 'name="head_html"' in (await owner.get(DESIGN)).text
        page = await owner.follow(await owner.post(f"{DESIGN}/code", code))
        assert "&lt;meta name=x&gt;" in page
        assert "<meta name=x>" not in page
        assert "<meta name=x>" in (await tenant.guest.get("/")).text
        await tenant.settings(code_allowed=False)
        assert "is kept, and not shown" in (await owner.get(DESIGN)).text


class TestTheColour:
    async def test_a_colour_that_is_hard_to_read_is_shown_as_the_site_adjusts_it(
        self, tenant: TenantWorld
    ) -> None:
        owner, _ = await staff(tenant, "owner")
        page = await saved(owner, accent_color="#ffee00")
        [address] = re.findall(r'href="(/assets/site/[^"]*)"', (await tenant.guest.get("/")).text)
        style = (await tenant.guest.get(address)).text
        light, dark = style.partition("light-dark(")[2].partition(")")[0].split(",")
        assert f"<code>{light}</code>" in page
        assert f"<code>{dark}</code>" in page
        assert "the site darkens it" in page
        assert "the site lightens it" not in page

    async def test_there_are_style_sheets_only_of_colours_that_sites_have(
        self, tenant: TenantWorld
    ) -> None:
        """Making a colour readable takes milliseconds of everyone's."""
        owner, _ = await staff(tenant, "owner")
        await saved(owner, accent_color="#00695c")
        [address] = re.findall(r'href="(/assets/site/[^"]*)"', (await tenant.guest.get("/")).text)
        assert (await tenant.guest.get(address)).status_code == 200
        for other in (
            address.replace("00695c", "00695d"),
            address.replace(".css", "0.css"),
            "/assets/site/accent-00695c.css",
            "/assets/site/accent-00695c-0123456789abcdef.css",
        ):
            assert (await tenant.guest.get(other)).status_code == 404

    async def test_a_colour_is_checked_while_it_is_typed(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        path = f"{DESIGN}/accent?accent_color=%23ffee00"
        answer = await owner.get(path, **{"hx-request": "true"})
        assert "the site darkens it" in answer.text
        assert "<html" not in answer.text
        for text in ("%23ff", '"><b>', ""):
            path = f"{DESIGN}/accent?accent_color={text}"
            answer = await owner.get(path, **{"hx-request": "true"})
            assert (answer.status_code, "<figure" in answer.text) == (200, False)


class TestPictures:
    async def test_a_logo_is_uploaded_and_shown_by_the_site(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        page = await owner.follow(await sent(owner, "logo", "mark.png", picture()))
        assert "The site has a new logo." in page
        logo = (await stored(tenant))["site_logo"]
        assert logo.startswith("/media/")
        assert f'<img src="{logo}"' in page
        assert f'<img src="{logo}"' in (await tenant.guest.get("/")).text
        assert (await tenant.guest.get(logo)).headers["content-type"] == "image/png"
        await sent(owner, "favicon", "icon.png", picture())
        assert (
            f'href="{(await stored(tenant))["site_favicon"]}"' in (await tenant.guest.get("/")).text
        )
        page = await owner.follow(await sent(owner, "logo", "", b"", remove="1"))
        assert "Removed." in page
        assert (await stored(tenant))["site_logo"] == ""
        # It is still there, and closed like every file that nothing uses any more.
        assert (await owner.get(logo)).status_code == 200
        assert (await tenant.guest.get(logo)).status_code == 404

    @pytest.mark.parametrize(
        ("name", "content"),
        [("", b""), ("logo.png", b"<html>not a picture"), ("x.pdf", b"%PDF-1.7 x")],
    )
    async def test_a_file_that_is_no_picture_is_refused(
        self, tenant: TenantWorld, name: str, content: bytes
    ) -> None:
        owner, _ = await staff(tenant, "owner")
        before = await stored(tenant)
        answer = await sent(owner, "logo", name, content)
        assert (answer.status_code, 'id="site_logo-error"' in answer.text) == (422, True)
        assert 'id="design-form"' in answer.text
        assert await stored(tenant) == before
        records = tenant.world.parts.records
        assert await records.find(media, {}, tenant_id=tenant.id) == []

    async def test_only_a_logo_or_an_icon_can_be_sent(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        assert (await sent(owner, "cors_origins", "x.png", picture())).status_code == 404

    @pytest.mark.parametrize("role", ["editor", "author"])
    async def test_pictures_are_for_owners_alone(self, tenant: TenantWorld, role: str) -> None:
        browser, _ = await staff(tenant, role)
        assert (await sent(browser, "logo", "mark.png", picture())).status_code == 403
        assert (await stored(tenant))["site_logo"] == ""


def picture() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (64, 16), "#8f1d2c").save(content, "PNG")
    return content.getvalue()


async def sent(
    browser: Visitor, which: str, name: str, content: bytes, **form: str
) -> httpx.Response:
    """The form of a picture, as a browser sends it."""
    data = {"form_token": await browser.token(), **form}
    files = {"file": (name, content, "image/png")}
    return await browser.api.post(f"{DESIGN}/picture/{which}", data=data, files=files, headers=OWN)
