"""Sensitive steps through the record store are refused 15 minutes after the last proof of who it
is, as the admin asks for one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faces.admin.visitor import OWN, hidden_in, visitor
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.faces.record_api.asking_again import SENSITIVE
from masthead.identity.api_keys import api_keys
from masthead.service.schema import registry

STAFF = records_of("_superusers")
NEW = {"email": "new@example.com", "password": PASSWORD, "passwordConfirm": PASSWORD}
REFUSED = "at most 15 minutes old"


@pytest.fixture
async def colleague(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="author")


async def ids_of(tenant: TenantWorld, collection: str) -> list[str]:
    found = await tenant.world.parts.records.find(
        tenant.world.collection(collection), {}, tenant_id=tenant.id, limit=9
    )
    return [each["id"] for each in found]


async def sensitive_calls(tenant: TenantWorld, staff_id: str) -> list[tuple[str, str, Any]]:
    """One for each kind of sensitive step that a table of the record store names."""
    key = await tenant.create("api_keys", {"name": "Key", "scopes": ["posts:read"]})
    hook = {"name": "Hook", "url": "https://example.com/hook", "events": ["post.published"]}
    webhook = await tenant.create("webhook_subscriptions", hook)
    [settings] = await ids_of(tenant, "site_settings")
    member = await tenant.member()
    return [
        ("PATCH", f"{STAFF}/{staff_id}", {"role": "owner"}),
        ("PATCH", f"{STAFF}/{staff_id}", {"email": "other@example.com"}),
        ("PATCH", f"{STAFF}/{staff_id}", {"password": PASSWORD, "passwordConfirm": PASSWORD}),
        ("POST", STAFF, NEW),
        ("DELETE", f"{STAFF}/{staff_id}", None),
        ("PATCH", f"{records_of('api_keys')}/{key['id']}", {"scopes+": "posts:write"}),
        ("PATCH", f"{records_of('api_keys')}/{key['id']}", {"revoked_at": ""}),
        ("DELETE", f"{records_of('api_keys')}/{key['id']}", None),
        *(
            ("PATCH", f"{records_of('webhook_subscriptions')}/{webhook['id']}", body)
            for body in ({"url": "https://example.org"}, {"headers": {"X-Name": "value"}})
        ),
        *(
            ("PATCH", f"{records_of('site_settings')}/{settings}", {name: value})
            for name, value in (
                ("require_second_factor", False),
                ("ai_base_url", "https://example.org/v1"),
                ("ai_api_key", "key"),
                ("member_payment_secret_key", "key"),
            )
        ),
        ("POST", f"/api/collections/blog_members/impersonate/{member.id}", {}),
    ]


async def test_an_old_proof_refuses_each_sensitive_step(
    tenant: TenantWorld, owner: Account, colleague: Account
) -> None:
    calls = await sensitive_calls(tenant, colleague.id)
    tenant.world.clock.advance(minutes=16)
    for method, path, body in calls:
        answer = await owner.api.request(method, path, json=body)
        assert answer.status_code == 403, (method, path, body, answer.text)
        assert REFUSED in answer.json()["message"]
    records = tenant.world.parts.records
    [account] = await records.find(
        tenant.world.collection("_superusers"), {"id": colleague.id}, tenant_id=tenant.id
    )
    assert (account["role"], account["email"]) == ("author", colleague.email)
    [key] = await records.find(api_keys, {}, tenant_id=tenant.id)
    assert key["scopes"] == ["posts:read"]


async def test_a_batch_is_refused_the_same(
    tenant: TenantWorld, owner: Account, colleague: Account
) -> None:
    calls = await sensitive_calls(tenant, colleague.id)
    tenant.world.clock.advance(minutes=16)
    for method, path, body in calls[:-1]:
        request = {"method": method, "url": path, "body": body or {}}
        answer = await owner.api.post("/api/batch", json={"requests": [request]})
        assert answer.status_code == 400, (method, path, answer.text)
        assert REFUSED in answer.text
    put = {"method": "PUT", "url": STAFF, "body": {"id": colleague.id, "role": "owner"}}
    answer = await owner.api.post("/api/batch", json={"requests": [put]})
    assert REFUSED in answer.text


async def test_a_fresh_proof_is_enough_by_either_way(
    tenant: TenantWorld, owner: Account, colleague: Account
) -> None:
    role, staff = {"role": "editor"}, f"{STAFF}/{colleague.id}"
    assert (await owner.api.patch(staff, json=role)).status_code == 200
    tenant.world.clock.advance(minutes=16)
    assert (await owner.api.patch(staff, json=role)).status_code == 403
    given = {"identity": owner.email, "password": PASSWORD}
    path = "/api/collections/_superusers/auth-with-password"
    again = (await tenant.guest.post(path, json=given)).json()["token"]
    headers = {"authorization": again}
    assert (await owner.api.patch(staff, json=role, headers=headers)).status_code == 200
    # A new token of the old sign-in proves nothing.
    refreshed = await owner.api.post("/api/collections/_superusers/auth-refresh")
    headers = {"authorization": refreshed.json()["token"]}
    assert (await owner.api.patch(staff, json=role, headers=headers)).status_code == 403
    browser = visitor(tenant.world, owner, tenant.host)
    page = (await browser.get("/admin/account/confirm")).text
    form = hidden_in(page) | {"again_password": PASSWORD}
    confirmed = await browser.api.post("/admin/account/confirm", data=form, headers=OWN)
    assert confirmed.status_code == 303
    assert (await owner.api.patch(staff, json=role)).status_code == 200


async def test_other_steps_need_no_fresh_proof(
    tenant: TenantWorld, owner: Account, colleague: Account
) -> None:
    [settings] = await ids_of(tenant, "site_settings")
    tenant.world.clock.advance(minutes=16)
    renamed = await owner.api.patch(f"{STAFF}/{colleague.id}", json={"name": "Ada"})
    assert renamed.status_code == 200
    named = await owner.api.patch(
        f"{records_of('site_settings')}/{settings}", json={"site_name": "New"}
    )
    assert named.status_code == 200
    # The old password is asked for in any case.
    own = {"oldPassword": PASSWORD, "password": PASSWORD + "2", "passwordConfirm": PASSWORD + "2"}
    assert (await colleague.api.patch(f"{STAFF}/{colleague.id}", json=own)).status_code == 200


async def test_whoever_may_not_take_the_step_is_told_so_first(
    tenant: TenantWorld, owner: Account, colleague: Account
) -> None:
    tenant.world.clock.advance(minutes=16)
    assert (await tenant.guest.delete(f"{STAFF}/{owner.id}")).status_code == 401
    assert (await tenant.guest.post(STAFF, json=NEW)).status_code == 401
    refused = await colleague.api.delete(f"{STAFF}/{owner.id}")
    assert refused.status_code == 403
    assert REFUSED not in refused.text


async def test_an_operator_can_not_make_a_fresh_proof_by_acting_as_another(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    operator = await app.operator()
    path = f"/api/collections/_superusers/impersonate/{owner.id}"
    headers = {"host": tenant.host}
    assert (await operator.api.post(path, json={}, headers=headers)).status_code == 200
    app.clock.advance(minutes=16)
    assert (await operator.api.post(path, json={}, headers=headers)).status_code == 403


def test_the_table_names_fields_that_there_are() -> None:
    for name, sensitive in SENSITIVE.items():
        assert sensitive.fields <= registry[name].by_name.keys()


def test_no_secret_that_staff_can_set_is_forgotten() -> None:
    for collection in registry.collections:
        writable = {
            each for each in collection.secrets if collection.by_name[each].write.name != "ENGINE"
        }
        known = SENSITIVE.get(collection.name)
        assert writable <= (known.fields if known else frozenset()), collection.name
