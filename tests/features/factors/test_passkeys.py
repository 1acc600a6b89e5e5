"""A passkey that no browser would send gets the refusal that every wrong one gets."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.faces.admin.visitor import OWN, Visitor, hidden_in, staff
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.identity.passkeys import MAX_PASSKEYS, Passkey
from masthead.identity.tenants import superusers


def encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def answers(handle: str) -> list[Any]:
    response = {
        "clientDataJSON": encoded(b'{"type":"webauthn.get","challenge":"AA","origin":"http://x"}'),
        "authenticatorData": encoded(b"\0" * 37),
        "signature": encoded(b"\0" * 70),
        "userHandle": encoded(handle.encode()),
    }
    whole = {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": response}
    return [
        whole,
        whole | {"id": None},
        whole | {"type": "password"},
        whole | {"response": {}},
        whole | {"response": []},
        whole | {"response": response | {"userHandle": 7}},
        whole | {"response": response | {"userHandle": "\xff"}},
        whole | {"response": response | {"userHandle": encoded(b"\0/\0")}},
        whole | {"response": response | {"clientDataJSON": "AA", "authenticatorData": "AA"}},
        whole | {"response": response | {"authenticatorData": encoded(b"\xff" * 37)}},
        [],
        "text",
        "[" * 5_000,
        "x" * 40_000,
        "",
    ]


@pytest.mark.parametrize("number", range(15))
async def test_a_strange_answer_is_refused(tenant: TenantWorld, number: int) -> None:
    browser, account = await staff(tenant, "owner")
    records = tenant.world.parts.records
    [record] = await records.find(superusers, {"id": account.id}, tenant_id=tenant.id)
    passkey = Passkey("AAAA", "AAAA", 0, tenant.host, "Phone", "2026-03-01 09:00:00.000Z")
    await tenant.world.parts.factors.add_passkey(system(tenant.id), record, passkey)
    given = answers(f"{tenant.id}/{account.id}")[number]
    text = given if isinstance(given, str) else json.dumps(given)
    guest = Visitor(tenant.guest)
    for path, opened in (("/admin/sign-in/passkey", guest), ("/admin/account/passkeys", browser)):
        page = "/admin/sign-in" if opened is guest else path
        hidden = hidden_in((await opened.get(page)).text)
        answer = await opened.api.post(path, data=hidden | {"passkey": text}, headers=OWN)
        assert answer.status_code == 422, (path, answer.text)
        assert "pb_auth" not in answer.headers.get("set-cookie", "")


async def test_a_challenge_is_for_one_purpose_one_host_and_ten_minutes(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    browser, account = await staff(tenant, "owner")
    handle = f"{tenant.id}/{account.id}"
    form = {"passkey": json.dumps(answers(handle)[0])}
    of_other_site = hidden_in((await other_tenant.guest.get("/admin/sign-in")).text)["challenge"]
    of_a_new_one = hidden_in((await browser.get("/admin/account/passkeys")).text)["challenge"]
    old = hidden_in((await tenant.guest.get("/admin/sign-in")).text)["challenge"]
    tenant.world.clock.advance(minutes=11)
    for challenge in (of_other_site, of_a_new_one, old, "", "v1.00000000.AAAA"):
        answer = await tenant.guest.post(
            "/admin/sign-in/passkey", data=form | {"challenge": challenge}, headers=OWN
        )
        assert "used already" in answer.text


async def test_an_account_has_so_many_and_shows_none(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    parts = tenant.world.parts
    [record] = await parts.records.find(superusers, {"id": account.id}, tenant_id=tenant.id)
    for number in range(MAX_PASSKEYS):
        made = Passkey(f"AA{number}", "AA", 0, tenant.host, "Key", "2026-03-01 09:00:00.000Z")
        codes = await parts.factors.add_passkey(system(tenant.id), record, made)
        assert len(codes) == (0 if number else 10)
    more = Passkey("BB", "AA", 0, tenant.host, "Key", "2026-03-01 09:00:00.000Z")
    with pytest.raises(Exception, match="at most 20 passkeys"):
        await parts.factors.add_passkey(system(tenant.id), record, more)
    answer = await browser.get(f"/api/collections/_superusers/records/{account.id}")
    assert "passkeys" not in answer.json()
