"""Sensitive steps ask who it is, 15 minutes after the last proof, and lose nothing."""

from __future__ import annotations

import re

import pytest
from tests.faces.admin.test_samples import routes
from tests.faces.admin.visitor import OWN, hidden_in, staff, visitor
from tests.features.factors.apps import add_app
from tests.world import PASSWORD, TenantWorld

from masthead.identity.api_keys import api_keys
from masthead.web.policy import Body, BodyKind, Origin, Policy, Who

ASKED = {
    "GET /admin/members/members.csv",
    "POST /admin/members/{id}/export",
    "POST /admin/members/{id}/erase",
    "GET /admin/members/{id}/requests/{request}/download",
    "POST /admin/settings/ai",
    "POST /admin/settings/payments",
    "POST /admin/settings/keys",
    "POST /admin/settings/keys/{id}/revoke",
    "POST /admin/settings/privacy/export",
    "POST /admin/settings/privacy/delete",
    "GET /admin/settings/privacy/{id}/download",
    "POST /admin/staff",
    "POST /admin/staff/second-factor",
    "POST /admin/staff/{id}",
    "POST /admin/staff/{id}/invite",
    "POST /admin/staff/{id}/factors",
    "POST /admin/staff/{id}/sign-out",
    "POST /admin/staff/{id}/remove",
    "POST /admin/tenants/{id}/delete",
    "POST /admin/tenants/{id}/invite",
    "POST /admin/tools/export",
    "GET /admin/tools/export/{id}/download",
    "POST /admin/webhooks/new",
    "POST /admin/webhooks/{id}",
    "POST /admin/webhooks/{id}/rotate",
    "GET /admin/account/app",
    "POST /admin/account/app",
    "GET /admin/account/passkeys",
    "POST /admin/account/passkeys",
    "POST /admin/account/confirm",
    "POST /admin/account/connections",
    "POST /admin/account/connections/{id}/remove",
    "POST /admin/settings/design/code",
    "POST /admin/settings/sign-in/new",
    "POST /admin/settings/sign-in/{id}",
    "POST /admin/settings/sign-in/{id}/remove",
}
NOT_ASKED = {
    # Ask for a factor or the password in any case.
    "/admin/account/app/remove",
    "/admin/account/passkeys/{id}/remove",
    "/admin/account/password",
    # Content in the trash, which goes by itself in the end.
    "/admin/trash/{id}/delete",
    # Content, which has revisions or can be made again.
    "/admin/posts/{id}/delete",
    "/admin/pages/{id}/delete",
    "/admin/media/{id}/delete",
    "/admin/webhooks/{id}/delete",
    "/admin/settings/newsletters/{id}/delete",
    "/admin/snippets/{id}/delete",
    "/admin/settings/domain/remove",
    # Removes a copy that is kept here.
    "/admin/tools/export/{id}/remove",
    # Which keys of the keyboard work.
    "/admin/account/keys",
}
SOUNDS_SENSITIVE = re.compile(
    r"keys|delete|erase|export|rotate|remove|staff|factor|secret|password"
)


def test_each_sensitive_row_asks_again() -> None:
    asked = {
        f"{method} {route.path}"
        for route in routes()
        for method, action in route.actions.items()
        if action.policy.asks_again and method != "HEAD"
    }
    assert asked == ASKED


def test_no_row_that_sounds_sensitive_is_forgotten() -> None:
    forgotten = [
        route.path
        for route in routes()
        for method, action in route.actions.items()
        if method == "POST"
        and SOUNDS_SENSITIVE.search(route.path)
        and action.policy.is_for_staff
        and not action.policy.asks_again
        and route.path not in NOT_ASKED
    ]
    assert forgotten == []


@pytest.mark.parametrize(
    "policy",
    [
        Policy(who=Who.VISITOR, origin=Origin.FORM, body=Body(BodyKind.FORM), asks_again=True),
        Policy(who=Who.STAFF, origin=Origin.FORM, body=Body(BodyKind.FILES), asks_again=True),
        Policy(who=Who.STAFF, origin=Origin.SCRIPT, body=Body(BodyKind.JSON), asks_again=True),
    ],
)
def test_a_row_that_could_not_ask_keeps_the_service_from_starting(policy: Policy) -> None:
    with pytest.raises(ValueError):
        policy.check("POST")


async def test_a_form_is_asked_and_then_done_as_it_was_typed(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    tenant.world.clock.advance(minutes=16)
    form = {"name": "A <key>", "scopes.posts:read": "on", "expires": ""}
    asked = await browser.post("/admin/settings/keys", form)
    assert asked.status_code == 403
    assert "Confirm that it’s you" in asked.text
    kept = hidden_in(asked.text)
    assert (kept["name"], kept["scopes.posts:read"]) == ("A <key>", "on")
    address = "/admin/settings/keys"
    wrong = await browser.api.post(address, data=kept | {"again_password": "no"}, headers=OWN)
    assert wrong.status_code == 403
    assert "That is not your password." in wrong.text
    right = hidden_in(wrong.text) | {"again_password": PASSWORD}
    assert PASSWORD not in wrong.text
    made = await browser.api.post(address, data=right, headers=OWN)
    assert "mh_live_" in made.text
    found = await tenant.world.parts.records.find(api_keys, {}, tenant_id=tenant.id, limit=9)
    assert [each["name"] for each in found] == ["A <key>"]
    # For another 15 minutes.
    assert "mh_live_" in (await browser.post(address, form | {"name": "Second"})).text
    tenant.world.clock.advance(minutes=16)
    assert (await browser.post(address, form | {"name": "Third"})).status_code == 403


async def test_a_proof_of_one_sign_in_is_none_of_another(tenant: TenantWorld) -> None:
    _, account = await staff(tenant, "owner")
    tenant.world.clock.advance(minutes=16)
    other = visitor(tenant.world, account, tenant.host)
    stolen = await tenant.world.signed_in(
        tenant.world.collection("_superusers"), await _record(tenant, account.id), tenant.host
    )
    fresh = visitor(tenant.world, stolen, tenant.host)
    form = {"name": "Key", "scopes.posts:read": "on", "expires": ""}
    assert "mh_live_" in (await fresh.post("/admin/settings/keys", form)).text
    assert (await other.post("/admin/settings/keys", form)).status_code == 403


async def test_a_guarded_account_is_asked_for_its_factor(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    tenant.world.clock.advance(minutes=16)
    form = {"name": "Key", "scopes.posts:read": "on", "expires": ""}
    asked = await browser.post("/admin/settings/keys", form)
    assert "again_password" not in asked.text
    kept = hidden_in(asked.text)
    address = "/admin/settings/keys"
    refused = await browser.api.post(address, data=kept | {"again_password": PASSWORD}, headers=OWN)
    assert refused.status_code == 403
    code = app.code()
    made = await browser.api.post(address, data=kept | {"again_code": code}, headers=OWN)
    assert "mh_live_" in made.text


async def test_a_download_leads_back_to_itself(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    await tenant.member(email="ana@example.com")
    tenant.world.clock.advance(minutes=16)
    address = "/admin/members/members.csv?tier=free"
    sent_away = await browser.get(address)
    page = await browser.get(sent_away.headers["location"])
    assert page.status_code == 403
    form = hidden_in(page.text) | {"again_password": PASSWORD}
    answer = await browser.api.post("/admin/account/confirm", data=form, headers=OWN)
    assert answer.headers["location"] == address
    assert "ana@example.com" in (await browser.get(address)).text


@pytest.mark.parametrize("address", ["/admin/account/app", "/admin/account/passkeys"])
async def test_a_new_factor_asks_before_its_form_is_filled_in(
    tenant: TenantWorld, address: str
) -> None:
    browser, _ = await staff(tenant, "owner")
    # The proof of the sign-in would expire while the form is filled in.
    tenant.world.clock.advance(minutes=11)
    sent_away = await browser.get(address)
    assert (sent_away.status_code, "/admin/account/confirm" in sent_away.headers["location"]) == (
        303,
        True,
    )
    page = await browser.get(sent_away.headers["location"])
    kept = hidden_in(page.text)
    empty = await browser.api.post("/admin/account/confirm", data=kept, headers=OWN)
    assert (empty.status_code, (await browser.get(address)).status_code) == (403, 303)
    right = kept | {"again_password": PASSWORD}
    answer = await browser.api.post("/admin/account/confirm", data=right, headers=OWN)
    assert answer.headers["location"] == address
    form = hidden_in((await browser.get(address)).text)
    # Nothing is asked once more, however slowly it is filled in.
    tenant.world.clock.advance(minutes=4)
    refused = await browser.post(address, form | {"code": "000000", "name": "Phone"})
    assert refused.status_code == 422
    assert "again_password" not in refused.text


async def test_the_question_needs_the_form_of_a_page_of_ours(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    tenant.world.clock.advance(minutes=16)
    form = {"name": "Key", "again_password": PASSWORD, "form_token": "0" * 40}
    answer = await browser.api.post("/admin/settings/keys", data=form, headers=OWN)
    assert answer.status_code == 403
    assert "again_password" not in answer.text
    cross = {"sec-fetch-site": "same-site"}
    form["form_token"] = await browser.token()
    answer = await browser.api.post("/admin/settings/keys", data=form, headers=cross)
    assert answer.status_code == 403
    assert "again_password" not in answer.text


async def _record(tenant: TenantWorld, account_id: str) -> dict[str, object]:
    found = await tenant.world.parts.records.find(
        tenant.world.collection("_superusers"), {"id": account_id}, tenant_id=tenant.id
    )
    return found[0]


async def test_a_new_password_is_no_proof_of_a_guarded_account(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    await add_app(browser, tenant.world)
    tenant.world.clock.advance(minutes=16)
    new = PASSWORD + "2"
    form = {"old_password": PASSWORD, "new_password": new, "new_again": new}
    changed = await browser.post("/admin/account/password", form)
    assert changed.status_code == 303
    key = {"name": "Key", "scopes.posts:read": "on", "expires": ""}
    assert (await browser.post("/admin/settings/keys", key)).status_code == 403


async def test_a_new_password_proves_an_account_without_a_second_factor(
    tenant: TenantWorld,
) -> None:
    browser, _ = await staff(tenant, "owner")
    tenant.world.clock.advance(minutes=16)
    new = PASSWORD + "2"
    form = {"old_password": PASSWORD, "new_password": new, "new_again": new}
    assert (await browser.post("/admin/account/password", form)).status_code == 303
    key = {"name": "Key", "scopes.posts:read": "on", "expires": ""}
    assert "mh_live_" in (await browser.post("/admin/settings/keys", key)).text
