"""The caller's own account, and what operators have besides."""

from __future__ import annotations

import re

from tests.faces.admin.visitor import BARE, OWN, Visitor, staff, token_in, visitor
from tests.world import PASSWORD, TenantWorld, World

from masthead.base.ids import TenantId
from masthead.identity.tenants import superusers


async def test_what_readers_learn_of_one_is_changed(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "author")
    form = {"name": "Tobias Wren", "bio": "Walks.\nWrites.", "role": "owner"}
    page = await browser.follow(await browser.post("/admin/account", form))
    assert "Saved." in page
    [stored] = await tenant.world.parts.records.find(
        superusers, {"id": account.id}, tenant_id=tenant.id
    )
    assert (stored["name"], stored["bio"], stored["role"]) == (
        "Tobias Wren",
        "Walks.\nWrites.",
        "author",
    )
    answer = await browser.post("/admin/account", {"picture": "javascript:alert(1)"})
    assert answer.status_code == 422
    assert 'id="picture-error"' in answer.text


class TestPassword:
    async def test_a_new_one_ends_every_other_sign_in(self, tenant: TenantWorld) -> None:
        browser, account = await staff(tenant, "owner")
        elsewhere = visitor(tenant.world, account, tenant.host)
        new = "quite another one"
        form = {"old_password": PASSWORD, "new_password": new, "new_again": new}
        tenant.world.clock.advance(seconds=2)
        page = await browser.follow(await browser.post("/admin/account/password", form))
        assert "Your password is changed." in page
        assert (await elsewhere.get("/admin")).status_code == 303
        assert (await browser.get("/admin")).status_code == 200

    async def test_the_old_one_is_needed(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        for form, name in (
            ({"old_password": "wrong"}, "old_password"),
            ({"old_password": PASSWORD, "new_password": "short"}, "new_password"),
            (
                {"old_password": PASSWORD, "new_password": "long enough", "new_again": "other"},
                "new_again",
            ),
        ):
            answer = await browser.post("/admin/account/password", form)
            assert answer.status_code == 422
            assert f'id="{name}-note"' in answer.text
            assert PASSWORD not in answer.text


class TestOperators:
    async def test_one_chooses_a_site_and_always_sees_where(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        operator = await app.operator()
        browser = visitor(app, operator, BARE)
        for path in ("/admin", "/admin/posts", "/admin/posts/new"):
            assert (await browser.get(path)).headers["location"] == "/admin/tenants"
        page = (await browser.get(f"/admin/tenants?q={tenant.slug}")).text
        assert f'action="/admin/tenants/{tenant.id}"' in page
        assert other_tenant.id not in page
        await tenant.post(title="Here")
        await other_tenant.post(title="There")
        page = await browser.follow(await browser.post(f"/admin/tenants/{tenant.id}"))
        assert "You are an operator in <b>demo</b>" in page
        assert "Here" in page
        assert "There" not in page

    async def test_a_form_of_one_site_does_not_change_another(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        browser = visitor(app, await app.operator(), BARE)
        await browser.post(f"/admin/tenants/{tenant.id}")
        open_form = (await browser.get("/admin/posts/new")).text
        await browser.post(f"/admin/tenants/{other_tenant.id}")
        form = {"form_token": token_in(open_form), "title": "Astray"}
        answer = await browser.api.post("/admin/posts/new", data=form, headers=OWN)
        assert answer.status_code == 403
        form["form_token"] = await browser.token()
        answer = await browser.api.post("/admin/posts/new", data=form, headers=OWN)
        assert answer.status_code == 303

    async def test_the_cookie_of_a_site_is_nothing_to_others(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        await other_tenant.post(title="There")
        owner = await tenant.owner()
        browser = visitor(app, owner, BARE)
        browser.api.cookies.set("mh_site", other_tenant.id, domain=BARE)
        page = (await browser.get("/admin/posts")).text
        assert "There" not in page
        for path in ("/admin/tenants", "/admin/components"):
            assert (await browser.get(path)).status_code == 403

    async def test_an_unknown_site(self, app: World) -> None:
        browser = visitor(app, await app.operator(), BARE)
        assert (await browser.post("/admin/tenants/no-such")).status_code == 404
        for query in ("after=%00~%00", "after=x", "q=%00", "q=%25%22"):
            assert (await browser.get(f"/admin/tenants?{query}")).status_code in (200, 400)
        browser.api.cookies.set("mh_site", "no-such", domain=BARE)
        assert (await browser.get("/admin/tenants")).status_code == 200

    async def test_the_components_are_all_on_one_page(
        self, app: World, tenant: TenantWorld
    ) -> None:
        browser = visitor(app, await app.operator(), tenant.host)
        page = await browser.get("/admin/components")
        assert page.status_code == 200
        for name in (
            *("Button", "Field", "Badge", "Notice", "Toast", "Table", "Empty", "Tabs", "Menu"),
            *("Dialog", "Palette", "Chart", "Upload", "Progress", "Code"),
        ):
            assert f">{name}</h2>" in page.text

    async def test_an_operators_own_account(self, app: World, tenant: TenantWorld) -> None:
        operator = await app.operator()
        browser = visitor(app, operator, tenant.host)
        await browser.follow(await browser.post("/admin/account", {"name": "Op Erator"}))
        [stored] = await app.parts.records.find(
            superusers, {"id": operator.id}, tenant_id=TenantId("")
        )
        assert stored["name"] == "Op Erator"
        new = "quite another one"
        form = {"old_password": PASSWORD, "new_password": new, "new_again": new}
        await browser.follow(await browser.post("/admin/account/password", form))


async def test_a_guest_on_the_bare_host_can_sign_in(app: World) -> None:
    page = await Visitor(app.client()).get("/admin/sign-in")
    assert "Sign in to Masthead" in page.text


class TestSignIns:
    async def test_one_elsewhere_is_ended_from_here(self, tenant: TenantWorld) -> None:
        browser, account = await staff(tenant, "author")
        other = Visitor(tenant.guest)
        agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
        other.api.headers["user-agent"] = agent
        form = {"email": account.email, "password": PASSWORD}
        await other.api.post("/admin/sign-in", data=form, headers=OWN)
        page = (await browser.get("/admin/account")).text
        assert "Firefox on Linux" in page
        assert page.count("This browser") == 1
        [path] = re.findall(r'action="(/admin/account/sign-ins/\w+)"', page)
        assert "is signed out" in await browser.follow(await browser.post(path))
        assert (await other.get("/admin")).status_code == 303
        assert (await browser.post(path)).status_code == 404

    async def test_all_others_at_once(self, tenant: TenantWorld) -> None:
        browser, account = await staff(tenant, "owner")
        others = [Visitor(tenant.guest) for _ in range(2)]
        form = {"email": account.email, "password": PASSWORD}
        for each in others:
            await each.api.post("/admin/sign-in", data=form, headers=OWN)
        await browser.follow(await browser.post("/admin/account/sign-ins"))
        assert [(await each.get("/admin")).status_code for each in others] == [303, 303]
        assert (await browser.get("/admin")).status_code == 200

    async def test_one_without_a_known_address_is_a_whole_sentence(
        self, tenant: TenantWorld
    ) -> None:
        browser, _ = await staff(tenant, "owner")
        page = (await browser.get("/admin/account")).text
        assert re.search(r">\s*Since [^<]*\. Last used", page)

    async def test_another_accounts_is_not_there(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner")
        other, _ = await staff(tenant, "author")
        await other.post("/admin/account/keys")
        page = (await other.get("/admin/account")).text
        assert page.count("This browser") == 1
        assert (await browser.post("/admin/account/sign-ins/nosuchsignin000")).status_code == 404


async def test_signing_out_ends_the_sign_in_itself(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    copied = visitor(tenant.world, account, tenant.host)
    await browser.post("/admin/sign-out")
    assert (await copied.get("/admin")).status_code == 303
