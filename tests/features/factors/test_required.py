"""A site that requires a second factor, and people who have lost theirs."""

from __future__ import annotations

import pytest
from tests.faces.admin.visitor import BARE, Visitor, staff, visitor
from tests.features.factors.apps import add_app, type_password
from tests.outside.mail.offices import Office, office, office_world, text_of
from tests.world import TenantWorld, World

from masthead.engine.audit.collection import audit_log
from masthead.identity.tenants import superusers

__all__ = ["office", "office_world"]


async def require(tenant: TenantWorld) -> Visitor:
    owner, _ = await staff(tenant, "owner")
    await add_app(owner, tenant.world)
    answer = await owner.post("/admin/staff/second-factor", {"require_second_factor": "on"})
    assert "Everyone on the staff now needs a second factor." in await owner.follow(answer)
    return owner


@pytest.mark.parametrize("host", ["the site's", "the service's"])
async def test_one_without_can_only_add_one(tenant: TenantWorld, host: str) -> None:
    _, account = await staff(tenant, "editor")
    browser = visitor(tenant.world, account, tenant.host if host == "the site's" else BARE)
    await tenant.post(title="A draft", status="draft")
    records = "/api/collections/posts/records"
    if host == "the site's":
        assert (await browser.get(records)).json()["totalItems"] == 1
    await require(tenant)
    for path in ("/admin", "/admin/posts", "/admin/account", "/admin/more", "/admin/nothing"):
        answer = await browser.get(path)
        assert answer.status_code == 403
        assert "Add a second factor" in answer.text
    if host == "the site's":
        assert (await browser.get(records)).json()["totalItems"] == 0
        own = f"/api/collections/_superusers/records/{account.id}"
        assert (await account.api.patch(own, json={"name": "X"})).status_code == 401
        answer = await account.api.post("/api/collections/_superusers/auth-refresh")
        assert answer.status_code == 401
        assert (await browser.get("/")).status_code == 200
    await add_app(browser, tenant.world)
    assert (await browser.get("/admin/posts")).status_code == 200


async def test_a_new_sign_in_is_led_there_too(tenant: TenantWorld) -> None:
    _, account = await staff(tenant, "author")
    await require(tenant)
    browser = Visitor(tenant.guest)
    answer = await type_password(browser, account.email)
    assert answer.headers["location"] == "/admin/posts"
    assert "Add a second factor" in (await browser.get("/admin/posts")).text
    page = (await browser.get("/admin/account/app")).text
    assert "<svg" in page


async def test_an_owner_without_one_requires_none(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    answer = await owner.post("/admin/staff/second-factor", {"require_second_factor": "on"})
    assert answer.status_code == 422
    assert "Add one to your own account first." in answer.text
    assert (await owner.get("/admin")).status_code == 200


async def test_operators_and_other_sites_are_not_asked(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    await require(tenant)
    operator = visitor(app, await app.operator(), tenant.host)
    assert (await operator.get("/admin/posts")).status_code == 200
    other, _ = await staff(other_tenant, "author")
    assert (await other.get("/admin/posts")).status_code == 200


async def test_another_owner_resets_lost_ones(office: Office) -> None:
    tenant = await office.world.new_tenant("site")
    owner, me = await staff(tenant, "owner")
    browser, account = await staff(tenant, "editor")
    await add_app(browser, office.world)
    page = (await owner.get(f"/admin/staff/{account.id}")).text
    assert "Reset the second factors" in page
    assert (await browser.post(f"/admin/staff/{account.id}/factors")).status_code == 403
    assert (await owner.post(f"/admin/staff/{me.id}/factors")).status_code == 404
    answer = await owner.post(f"/admin/staff/{account.id}/factors")
    assert "are removed" in await owner.follow(answer)
    assert (await browser.get("/admin")).status_code == 303
    answer = await type_password(Visitor(tenant.guest), account.email)
    assert answer.headers["location"] == "/admin/posts"
    told = [text_of(each) for each in await office.mails() if account.email in each["to"]]
    assert any("All second factors of" in each for each in told)
    entries = await office.world.parts.records.find(
        audit_log, {"account_id": me.id}, tenant_id=tenant.id, limit=20
    )
    assert [each["label"] for each in entries if each["action"] == "reset factors"] == [
        account.email
    ]


async def test_an_owner_of_another_site_resets_nothing(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    browser, account = await staff(tenant, "editor")
    await add_app(browser, tenant.world)
    other, _ = await staff(other_tenant, "owner")
    assert (await other.post(f"/admin/staff/{account.id}/factors")).status_code == 404
    [stored] = await tenant.world.parts.records.find(
        superusers, {"id": account.id}, tenant_id=tenant.id
    )
    assert stored["totp_secret"]
