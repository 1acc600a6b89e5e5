"""The media library without script: lists, uploads, one item, another file in its place, deletion,
and who may do what."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest
from tests.faces.admin.visitor import OWN, Visitor, hidden_in, staff, visitor
from tests.features.media.pictures import picture
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World, records_of

from masthead.faces.admin.pages.media.library import PER_PAGE

HTMX = {"hx-request": "true"}
PNG = picture("PNG")


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def sent(
    browser: Visitor, path: str, *files: tuple[str, bytes], **form: str
) -> httpx.Response:
    """A form with files, of a page that is open."""
    filled = {"form_token": await browser.token(), **form}
    parts = [("file", file) for file in files]
    return await browser.api.post(path, data=filled, files=parts or None, headers=OWN)


async def called(browser: Visitor, name: str, content: bytes, **headers: str) -> httpx.Response:
    """As the script of a page uploads."""
    page = (await browser.get("/admin/media")).text
    owner = re.search(r'data-page-owner="([^"]*)"', page)
    assert owner
    own = {"x-form-token": await browser.token(), "x-page-owner": owner[1]}
    own |= {"accept": "application/json", **headers}
    return await browser.api.post(
        "/admin/media/upload", files={"file": (name, content)}, headers=OWN | own
    )


async def uploaded(browser: Visitor, name: str = "fog.png", content: bytes = PNG) -> dict[str, Any]:
    answer = await called(browser, name, content)
    assert answer.status_code == 200, answer.text
    item: dict[str, Any] = answer.json()
    return item


def names_in(page: str) -> list[str]:
    found = re.findall(r'data-item="[a-z0-9]{15}".*?<b>(.*?)</b>', page, re.DOTALL)
    return [unescape(each) for each in found]


async def shown(browser: Visitor, address: str) -> list[str]:
    answer = await browser.get(address)
    assert answer.status_code == 200, answer.text
    return names_in(answer.text)


class TestList:
    async def test_a_first_visit_says_what_to_do(self, browser: Visitor) -> None:
        page = (await browser.get("/admin/media")).text
        assert "No files yet" in page
        assert 'enctype="multipart/form-data"' in page

    async def test_search_and_filters(
        self, app: World, tenant: TenantWorld, browser: Visitor
    ) -> None:
        fog = await uploaded(browser, "Fog at Weir-Street.png")
        app.clock.advance(seconds=1)
        await uploaded(browser, "sea.png")
        app.clock.advance(seconds=1)
        await uploaded(browser, "words.txt", b"Words.")
        alt = {"alt": "The harbour at dawn", "caption": "Photograph by Tobias"}
        await browser.post(f"/admin/media/{fog['id']}", alt)
        await tenant.post(title="Fog", content_html=f'<img src="{fog["url"]}">')
        everything = ["words.txt", "sea.png", "Fog at Weir-Street.png"]
        first = ["Fog at Weir-Street.png"]
        for query, found in (
            ("", everything),
            ("view=list", everything),
            ("q=weir", first),
            ("q=wei", first),
            ("q=harbour+da", first),
            ("q=tobias&view=list", first),
            ("q=none", []),
            ("type=image", everything[1:]),
            ("type=text", ["words.txt"]),
            ("type=video", []),
            ("use=unused", everything[:2]),
            ("use=unused&type=image", ["sea.png"]),
            ("use=unused&type=text", ["words.txt"]),
            ("alt=missing", ["sea.png"]),
            ("alt=missing&type=image", ["sea.png"]),
            ("alt=missing&type=text", []),
            ("alt=missing&use=unused", ["sea.png"]),
            ("alt=missing&use=unused&type=text", []),
            ("q=sea&use=unused&alt=missing&type=image", ["sea.png"]),
            ("type=nonsense&use=x&alt=y&view=z", everything),
        ):
            assert (query, await shown(browser, f"/admin/media?{query}")) == (query, found)
        page = (await browser.get("/admin/media?q=none")).text
        assert "No file matches" in page
        page = (await browser.get("/admin/media")).text
        assert "3 files" in page
        assert page.count("No alt text") == 1
        assert "1 use" in page

    async def test_pages_by_cursor_lead_there_and_back(
        self, app: World, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for number in range(PER_PAGE + 2):
            app.clock.advance(seconds=1)
            values = {"file": f"f{number}.png", "filename": f"f{number:02}.png"}
            await stored_row(tenant, values)
        first = (await browser.get("/admin/media?type=image")).text
        assert len(names_in(first)) == PER_PAGE
        assert f"1–{PER_PAGE} of {PER_PAGE + 2}" in first
        older = re.search(r'href="([^"]*after=[^"]*)"', first)
        assert older
        second = (await browser.get(unescape(older[1]))).text
        assert names_in(second) == ["f01.png", "f00.png"]
        newer = re.search(r'href="([^"]*before=[^"]*)"', second)
        assert newer
        # Less than a page before it: the first page.
        back = await browser.get(unescape(newer[1]))
        page = back.text if back.status_code == 200 else await browser.follow(back)
        assert names_in(page) == names_in(first)

    async def test_a_part_of_the_page_is_the_list(self, browser: Visitor) -> None:
        await uploaded(browser)
        part = (await browser.get("/admin/media?q=fog", **HTMX)).text
        assert part.lstrip().startswith('<div id="list">')
        item = await uploaded(browser, "sea.png")
        back = "/admin/media?q=sea&item=" + item["id"]
        detail = await browser.api.get(
            f"/admin/media/{item['id']}", params={"back": back}, headers=HTMX
        )
        assert detail.text.lstrip().startswith('<section class="detail"')
        assert hidden_in(detail.text)["back"] == back

    async def test_one_item_beside_the_list(self, browser: Visitor) -> None:
        item = await uploaded(browser)
        page = (await browser.get(f"/admin/media?item={item['id']}")).text
        assert 'class="detail"' in page
        assert 'aria-current="true"' in page
        assert (await browser.get("/admin/media?item=nonsense")).status_code == 200


async def stored_row(tenant: TenantWorld, values: dict[str, Any]) -> None:
    """A record without bytes, which a list does not read."""
    from masthead.base.caller import system

    stamped = {"mime_type": "image/png", "mime_family": "image", "size": 7, "url": "", **values}
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        file = stamped.pop("file")
        await unit.create(tenant.world.collection("media"), {"file": file}, stamped=stamped)


class TestUpload:
    async def test_several_files_of_a_form(self, tenant: TenantWorld, browser: Visitor) -> None:
        answer = await sent(browser, "/admin/media", ("a.png", PNG), ("b.txt", b"Words."))
        page = await browser.follow(answer)
        assert "2 files uploaded." in page
        assert sorted(names_in(page)) == ["a.png", "b.txt"]

    async def test_a_refused_file_is_named_with_the_reason(self, browser: Visitor) -> None:
        broken = b"<svg xmlns='http://www.w3.org/2000/svg'><broken"
        answer = await sent(browser, "/admin/media", ("bad<b>.svg", broken), ("a.png", PNG))
        assert answer.status_code == 422
        assert names_in(answer.text) == ["a.png"]
        row = re.search(r'<li class="up-row">(.*?)</li>', answer.text, re.DOTALL)
        assert row
        assert "bad&lt;b&gt;.svg" in row[1]
        assert "not well-formed" in row[1]
        assert "1 file uploaded." in answer.text
        answer = await sent(browser, "/admin/media")
        assert answer.status_code in (400, 422)

    async def test_the_reason_is_in_the_language_of_the_account(self, tenant: TenantWorld) -> None:
        browser = (await staff(tenant, "owner", language="de"))[0]
        answer = await sent(browser, "/admin/media", ("bad.svg", b"<svg><broken"))
        assert "Das SVG ist nicht wohlgeformt" in answer.text

    @pytest.mark.parametrize(
        "name",
        [
            "../../etc/passwd",
            "..\\..\\boot.ini",
            '"><script>alert(1)</script>.png',
            "a" * 900 + ".png",
            "\u202egnp.exe",
            "   ",
            "CON.png",
            "%00%0d%0aset-cookie: x=1.png",
        ],
    )
    async def test_hostile_names_stay_names(
        self, tenant: TenantWorld, browser: Visitor, name: str
    ) -> None:
        item = await uploaded(browser, name)
        assert re.fullmatch(r"[a-z0-9_]+\.[a-z0-9]+", item["url"].rpartition("/")[2])
        for page in ("/admin/media", "/admin/media?view=list", f"/admin/media/{item['id']}"):
            text = (await browser.get(page)).text
            assert "<script>alert" not in text
            assert "\u202e" not in text
        answer = await tenant.guest.get("/" + item["url"].split("/", 3)[3])
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers

    async def test_a_script_in_a_drawing_is_removed(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        svg = (
            b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">'
            b"<script>alert(1)</script><circle r='3'/></svg>"
        )
        item = await uploaded(browser, "a.svg", svg)
        answer = await tenant.guest.get("/" + item["url"].split("/", 3)[3])
        assert b"alert" not in answer.content
        assert "attachment" in answer.headers["content-disposition"]

    async def test_too_large_a_file_says_so(self, tenant: TenantWorld, browser: Visitor) -> None:
        limit = tenant.world.parts.settings.max_upload
        answer = await called(browser, "a.bin", b"\0" * (limit + 1))
        assert answer.status_code == 413
        assert "bytes" in answer.json()["message"]


class TestItem:
    async def test_what_it_is_and_where_it_is_used(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        html = f'<img src="{item["url"]}">'
        post = await tenant.post(title="A <short> history", content_html=html)
        about = await tenant.create("pages", {"title": "About", "content_html": html})
        await tenant.settings(site_logo=item["url"])
        page = (await browser.get(f"/admin/media/{item['id']}")).text
        assert f'href="/admin/posts/{post["id"]}">A &lt;short&gt; history</a>' in page
        assert f'href="/admin/pages/{about["id"]}">About</a>' in page
        assert "settings" in page
        assert "64 × 48" in page
        assert "Nell Ashby" in page
        assert item["url"] in page
        asked = (await browser.get(f"/admin/media/{item['id']}/delete")).text
        for text in ("It is in use.", "A &lt;short&gt; history", "About", "settings"):
            assert text in asked

    async def test_a_change_that_is_not_live_is_named(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        await browser.post(f"/admin/media/{item['id']}", {"alt": "Fog"})
        post = await tenant.published(title="Fog", content_html="<p>None.</p>")
        address = f"/admin/posts/{post['id']}"
        form = hidden_in((await browser.get(f"{address}?as=html")).text)
        changed = {"version": form["version"], "title": "Fog", "featured_image": item["url"]}
        await browser.post(address, {**changed, "action": "save"})
        page = (await browser.get(f"/admin/media/{item['id']}")).text
        assert "in changes that are not live yet" in page
        assert "In a change" in (await browser.get("/admin/media")).text

    async def test_texts_are_saved_and_refused_with_the_reason(self, browser: Visitor) -> None:
        item = await uploaded(browser)
        address = f"/admin/media/{item['id']}"
        page = await browser.follow(await browser.post(address, {"alt": "Fog", "caption": "By me"}))
        assert "Saved." in page
        assert "Fog</textarea>" in page
        back = f"/admin/media?item={item['id']}"
        answer = await browser.post(address, {"alt": "Fog, again", "back": back})
        assert answer.headers["location"] == back
        for elsewhere in ("https://evil.example", "//evil.example", "/admin/mediator"):
            answer = await browser.post(address, {"alt": "Fog", "back": elsewhere})
            assert answer.headers["location"] == address
        answer = await browser.post(address, {"alt": "x" * 1001})
        assert answer.status_code == 422
        assert "x" * 1001 in answer.text

    async def test_another_file_in_its_place(
        self, app: World, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        post = await tenant.published(title="Fog", content_html=f'<img src="{item["url"]}">')
        address = f"/admin/media/{item['id']}"
        await browser.post(address, {"alt": "Fog"})
        answer = await sent(browser, f"{address}/file", ("new.jpg", picture("JPEG", (32, 32))))
        page = await browser.follow(answer)
        assert "The file is replaced." in page
        assert "32 × 32" in page
        assert "Fog</textarea>" in page
        await run_jobs(app)
        old = "/" + item["url"].split("/", 3)[3]
        moved = await tenant.guest.get(old)
        assert moved.status_code == 302
        new = await tenant.guest.get(moved.headers["location"])
        assert new.headers["content-type"] == "image/jpeg"
        read = (await tenant.guest.get(f"/posts/{post['slug']}")).text
        assert moved.headers["location"] in read
        assert old not in read

    async def test_a_refused_replacement_says_why(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        address = f"/admin/media/{item['id']}/file"
        answer = await sent(browser, address, ("a.txt", b"Words."))
        assert answer.status_code == 422
        assert "Choose a picture" in answer.text
        limit = tenant.world.parts.settings.max_upload
        answer = await sent(browser, address, ("a.png", PNG + b"\0" * limit))
        assert answer.status_code == 422
        assert "bytes" in answer.text
        assert (await tenant.guest.get("/" + item["url"].split("/", 3)[3])).status_code == 200

    async def test_deleted_with_its_file(
        self, app: World, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        assert "Nothing uses it." in (await browser.get(f"/admin/media/{item['id']}/delete")).text
        page = await browser.follow(await browser.post(f"/admin/media/{item['id']}/delete"))
        assert "“fog.png” is in the trash." in page
        await run_jobs(app)
        assert (await tenant.guest.get("/" + item["url"].split("/", 3)[3])).status_code == 404
        assert (await browser.get(f"/admin/media/{item['id']}")).status_code == 404


class TestChoice:
    async def test_pictures_to_choose_from(self, browser: Visitor) -> None:
        await uploaded(browser, "fog.png")
        await uploaded(browser, "words.txt", b"Words.")
        part = (await browser.get("/admin/media/choose?q=", **HTMX)).text
        assert re.findall(r"<b>(.*?)</b>", part) == ["fog.png"]
        assert "No picture matches." in (await browser.get("/admin/media/choose?q=x", **HTMX)).text
        # Without script there is the library.
        answer = await browser.get("/admin/media/choose")
        assert answer.status_code == 303

    async def test_the_form_of_a_post_has_the_field(self, browser: Visitor) -> None:
        page = (await browser.get("/admin/posts/new")).text
        assert re.search(r'<mh-picture><input class="input" id="featured_image"', page)
        assert 'data-upload-url="/admin/media/upload"' in page


class TestRoles:
    @pytest.fixture
    async def others(self, tenant: TenantWorld, browser: Visitor) -> dict[str, Any]:
        return await uploaded(browser)

    async def test_an_author_sees_all_and_changes_own(
        self, tenant: TenantWorld, others: dict[str, Any]
    ) -> None:
        author, _ = await staff(tenant, "author", name="Tobias")
        own = await uploaded(author, "own.png")
        assert sorted(await shown(author, "/admin/media")) == ["fog.png", "own.png"]
        for item, may in ((own, True), (others, False)):
            address = f"/admin/media/{item['id']}"
            page = (await author.get(address)).text
            assert ("Replace the file" in page) is may
            assert (await author.get(f"{address}/delete")).status_code == (200 if may else 403)
            done = 303 if may else 404
            assert (await author.post(address, {"alt": "Mine"})).status_code == done
            replaced = await sent(author, f"{address}/file", ("b.png", picture("PNG", (9, 9))))
            assert replaced.status_code == done
            assert (await author.post(f"{address}/delete")).status_code == done

    async def test_an_author_learns_no_title_of_another(
        self, tenant: TenantWorld, others: dict[str, Any]
    ) -> None:
        author, account = await staff(tenant, "author")
        html = f'<img src="{others["url"]}">'
        await tenant.post(title="Not yours", content_html=html)
        await tenant.post(title="Yours", content_html=html, authors=[account.id])
        page = (await author.get(f"/admin/media/{others['id']}")).text
        assert "Yours" in page
        assert "Not yours" not in page
        assert re.search(r"1 more\s+place", page)

    async def test_an_editor_changes_everything(
        self, tenant: TenantWorld, others: dict[str, Any]
    ) -> None:
        editor, _ = await staff(tenant, "editor")
        address = f"/admin/media/{others['id']}"
        assert (await editor.post(address, {"alt": "Fog"})).status_code == 303
        assert (await editor.post(f"{address}/delete")).status_code == 303

    async def test_another_site_finds_nothing(
        self, tenant: TenantWorld, other_tenant: TenantWorld, others: dict[str, Any]
    ) -> None:
        stranger, _ = await staff(other_tenant, "owner")
        address = f"/admin/media/{others['id']}"
        assert (await stranger.get(address)).status_code == 404
        assert (await stranger.post(address, {"alt": "Fog"})).status_code == 404
        assert (await sent(stranger, f"{address}/file", ("a.png", PNG))).status_code == 404
        assert (await stranger.post(f"{address}/delete")).status_code == 404
        assert await shown(stranger, f"/admin/media?item={others['id']}") == []

    async def test_one_who_is_not_signed_in_uploads_nothing(self, tenant: TenantWorld) -> None:
        guest = Visitor(tenant.world.client(tenant.host))
        answer = await guest.api.post("/admin/media", files={"file": ("a.png", PNG)}, headers=OWN)
        assert answer.status_code == 303
        assert "/admin/sign-in" in answer.headers["location"]
        answer = await guest.api.post(
            "/admin/media/upload", files={"file": ("a.png", PNG)}, headers=OWN
        )
        assert answer.status_code == 401


class TestForgery:
    async def test_forms_and_calls_need_origin_and_token(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        item = await uploaded(browser)
        address = f"/admin/media/{item['id']}"
        token = await browser.token()
        parts = {"file": ("a.png", PNG)}
        for path in ("/admin/media", f"{address}/file"):
            for data, headers in (
                ({"form_token": token}, {"sec-fetch-site": "cross-site"}),
                ({"form_token": "wrong"}, OWN),
                ({}, OWN),
            ):
                answer = await browser.api.post(path, data=data, files=parts, headers=headers)
                assert answer.status_code == 403
        for path in (address, f"{address}/delete"):
            answer = await browser.api.post(path, data={"form_token": "wrong"}, headers=OWN)
            assert answer.status_code == 403
        answer = await called(browser, "a.png", PNG, **{"x-form-token": "wrong"})
        assert answer.status_code == 403
        # The cookie of a page of another site does not count.
        answer = await called(browser, "a.png", PNG, **{"sec-fetch-site": "cross-site"})
        assert answer.status_code == 401
        assert await shown(browser, "/admin/media") == ["fog.png"]

    async def test_a_picture_lands_only_in_the_site_and_account_of_its_page(
        self, tenant: TenantWorld, browser: Visitor, other_tenant: TenantWorld
    ) -> None:
        account = await tenant.owner()
        for owner in (f"{other_tenant.id}/{account.id}", f"{tenant.id}/{'a' * 15}"):
            answer = await called(browser, "a.png", PNG, **{"x-page-owner": owner})
            assert answer.status_code == 409
            assert "Nothing was uploaded" in answer.json()["message"]
        answer = await called(browser, "a.png", PNG, **{"x-page-owner": ""})
        assert answer.status_code == 400
        assert "No files yet" in (await browser.get("/admin/media")).text

    async def test_an_operator_uploads_into_the_site_of_the_page(
        self, app: World, tenant: TenantWorld, operator: Account
    ) -> None:
        at_site = visitor(app, operator, tenant.host)
        await uploaded(at_site)
        owner = await tenant.owner()
        items = (await owner.api.get(records_of("media"))).json()["items"]
        assert [each["filename"] for each in items] == ["fog.png"]
