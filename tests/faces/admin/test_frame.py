"""Rules for every page of the admin: its policy, its forms, its files and its errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.clients.node import HERE as CLIENTS
from tests.faces.admin.visitor import OWN, Visitor, staff, token_in, visitor
from tests.features.privacy.requests import DELETE, deletion
from tests.world import Account, TenantWorld, World

from masthead.base.config.keyring import KeyRing
from masthead.base.languages.translators import ENGLISH
from masthead.faces.admin.environment import STATIC, TEMPLATES, AdminTemplates
from masthead.faces.admin.flash import read_flash
from masthead.faces.reader.themes import OUR_STATIC, PLAIN
from masthead.web.assets import Assets

POLICY = (
    "default-src 'none'; script-src {0}/assets/; style-src {0}/assets/; font-src 'self'; "
    "connect-src 'self'; img-src 'self' https: data: blob:; media-src 'self' https:; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGES = (
    "/admin",
    "/admin/posts",
    "/admin/posts?q=hello&status=draft",
    "/admin/posts/new",
    "/admin/account",
    "/admin/more",
)
CHANGES = (
    "/admin/sign-out",
    "/admin/posts/new",
    "/admin/posts/bulk",
    "/admin/account",
    "/admin/account/password",
    "/admin/account/keys",
    "/admin/theme",
)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_private_and_loads_only_our_files(tenant: TenantWorld, path: str) -> None:
    browser, _ = await staff(tenant, "owner")
    answer = await browser.get(path)
    assert answer.status_code == 200
    headers = answer.headers
    assert headers["content-security-policy"] == POLICY.format(f"http://{tenant.host}")
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-robots-tag"] == "noindex, nofollow"
    addresses = re.findall(r'(?:src|href)="(/assets/[^"#]*)', answer.text)
    assert len(addresses) > 5
    for address in set(addresses):
        file = await browser.get(address)
        assert file.status_code == 200, address
        assert "immutable" in file.headers["cache-control"]


class TestForms:
    @pytest.mark.parametrize("path", CHANGES)
    async def test_one_without_its_token_changes_nothing(
        self, tenant: TenantWorld, path: str
    ) -> None:
        browser, _ = await staff(tenant, "owner")
        for form in ({"title": "x"}, {"title": "x", "form_token": "0" * 40}):
            answer = await browser.api.post(path, data=form, headers=OWN)
            assert answer.status_code == 403
            assert "Open the page again" in answer.text

    @pytest.mark.parametrize(
        "headers",
        [
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"sec-fetch-site": "none"},
            {"origin": "http://other.localhost"},
            {"origin": "null"},
            {},
        ],
    )
    async def test_one_from_another_site_changes_nothing(
        self, tenant: TenantWorld, headers: dict[str, str]
    ) -> None:
        browser, _ = await staff(tenant, "owner")
        form = {"form_token": await browser.token(), "title": "x"}
        answer = await browser.api.post("/admin/posts/new", data=form, headers=headers)
        assert answer.status_code == 403
        assert (await browser.get("/admin/posts")).text.count("Write the first post") == 1

    async def test_the_token_of_one_sign_in_is_not_that_of_another(
        self, tenant: TenantWorld
    ) -> None:
        one, _ = await staff(tenant, "owner")
        other, _ = await staff(tenant, "owner")
        form = {"form_token": await one.token(), "title": "x"}
        answer = await other.api.post("/admin/posts/new", data=form, headers=OWN)
        assert answer.status_code == 403

    async def test_an_equal_origin_is_enough_where_a_browser_sends_no_more(
        self, tenant: TenantWorld
    ) -> None:
        browser, _ = await staff(tenant, "owner")
        form = {"form_token": await browser.token(), "title": "x"}
        headers = {"origin": f"http://{tenant.host}"}
        answer = await browser.api.post("/admin/posts/new", data=form, headers=headers)
        assert answer.status_code == 303


class TestErrors:
    async def test_an_unknown_address_keeps_the_frame_and_names_the_request(
        self, tenant: TenantWorld
    ) -> None:
        browser, _ = await staff(tenant, "author")
        answer = await browser.get("/admin/no/such/page")
        assert answer.status_code == 404
        assert 'aria-label="Admin"' in answer.text
        assert f"<code>{answer.headers['x-request-id']}</code>" in answer.text

    async def test_a_wrong_method(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        answer = await browser.api.put("/admin/posts")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")

    async def test_a_slash_at_the_end(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        assert (await browser.get("/admin/")).headers["location"] == "/admin"

    async def test_pages_for_operators_say_so_to_others(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        for path in ("/admin/components", "/admin/tenants"):
            answer = await browser.get(path)
            assert answer.status_code == 403
            assert "Ask an operator of the service." in answer.text
            assert path not in (await browser.get("/admin/more")).text


class TestNavigation:
    async def test_it_has_at_most_13_links_and_one_to_the_account(
        self, app: World, tenant: TenantWorld
    ) -> None:
        await tenant.create("products", {"name": "Tide clock", "price": 100, "currency": "eur"})
        owner, _ = await staff(tenant, "owner")
        operator = visitor(app, await app.operator(), tenant.host)
        for browser, paths in (
            (owner, ("/admin", "/admin/settings", "/admin/shop/orders")),
            (operator, ("/admin", "/admin/tenants", "/admin/operator/queue")),
        ):
            for path in paths:
                page = (await browser.get(path)).text
                side = page.partition('<header class="side">')[2].partition("</header>")[0]
                links = re.findall(r'<li>\s*<a href="([^"]*)"', side)
                assert 3 < len(links) <= 13, (path, links)
                assert side.count('href="/admin/account"') == 1
                assert side.count("aria-current") == 1, path

    async def test_what_it_leaves_out_is_where_one_looks_for_it(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        settings = (await owner.get("/admin/settings")).text
        more = (await owner.get("/admin/more")).text
        for path in ("/admin/tools/import", "/admin/tools/export", "/admin/activity"):
            for page in (settings, more):
                assert f'href="{path}"' in page.partition("<main")[2]
            own = (await owner.get(path)).text
            assert re.search(r'href="/admin/settings" aria-current="page"', own)
            assert '<a class="back" href="/admin/settings">' in own
        assert 'href="/admin/account"' in more.partition("<main")[2]
        shop = (await owner.get("/admin/shop/orders")).text.partition("<main")[2]
        for path in ("orders", "tiers", "products", "gift-cards"):
            assert f'href="/admin/shop/{path}"' in shop


class TestAppearance:
    async def test_light_and_dark_are_in_the_page_from_the_start(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        assert "data-theme" not in (await browser.get("/admin")).text.partition("<head")[0]
        page = await browser.follow(
            await browser.post("/admin/theme", {"theme": "dark", "next": "/admin/posts"})
        )
        assert '<html lang="en-GB" data-theme="dark">' in page
        page = await browser.follow(await browser.post("/admin/theme", {"theme": "no such"}))
        assert '<html lang="en-GB">' in page

    async def test_single_keys_are_switched_off(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        page = await browser.follow(await browser.post("/admin/account/keys"))
        assert 'data-single-keys="off"' in page
        page = await browser.follow(
            await browser.post("/admin/account/keys", {"single_keys": "on"})
        )
        assert "data-single-keys" not in page

    async def test_a_sentence_of_another_site_is_not_shown(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        browser.api.cookies.set("mh_flash", "QnV5.0123456789abcdef", domain=tenant.host)
        assert "mh-toast" not in (await browser.get("/admin")).text
        assert read_flash(KeyRing(["k" * 40]), "\xe9.\xe9").sentence == ""


class TestTemplates:
    @pytest.mark.parametrize(
        "path",
        [
            pytest.param(path, id=path.relative_to(TEMPLATES).as_posix())
            for path in sorted(TEMPLATES.rglob("*.html"))
        ],
    )
    def test_no_template_holds_script_or_style(self, path: Path) -> None:
        source = path.read_text()
        assert not re.search(r"\bstyle\s*=|\son[a-z]+\s*=|hx-on|js:|<style|javascript:", source)
        assert not re.search(r"<script(?![^>]*\ssrc=)", source)
        # A condition in a trigger would be evaluated as script.
        assert not re.search(r'hx-trigger="[^"]*\[', source)
        assert "|safe" not in source.replace(" ", "")

    def test_every_form_that_changes_something_has_its_token(self) -> None:
        for path in TEMPLATES.rglob("*.html"):
            # The last two send a form again, whose token is among its hidden fields.
            if "gate" in path.as_posix() or path.name in ("sign-in-again.html", "prove.html"):
                continue
            for form in re.findall(r'<form[^>]*method="post"[^>]*>\s*.{0,40}', path.read_text()):
                assert "token(frame)" in form, (path.name, form)

    def test_every_template_compiles(self) -> None:
        environment = AdminTemplates(Assets(PLAIN, [OUR_STATIC]))._in(ENGLISH)
        for name in environment.list_templates():
            environment.get_template(name)


def test_htmx_is_the_file_of_the_locked_package() -> None:
    """npm has compared the package with the hash in the lock."""
    package = CLIENTS / "node_modules" / "htmx.org"
    vendored = STATIC / "vendor"
    assert (vendored / "htmx.min.js").read_bytes() == (
        package / "dist" / "htmx.min.js"
    ).read_bytes()
    assert (vendored / "htmx-0BSD.txt").read_bytes() == (package / "LICENSE").read_bytes()


async def test_a_guest_gets_no_token(tenant: TenantWorld, owner: Account) -> None:
    page = (await Visitor(tenant.guest).get("/admin/sign-in")).text
    with pytest.raises(AssertionError):
        token_in(page)
    assert owner.email not in page


async def test_a_site_that_will_be_deleted_says_how_to_cancel_that(tenant: TenantWorld) -> None:
    browser, owner = await staff(tenant, "owner")
    await owner.api.post(DELETE, json=deletion(tenant))
    page = (await browser.get("/admin/posts")).text
    assert "an owner can cancel the deletion under Settings, Data protection." in page
    assert "until the operator reopens" not in page
