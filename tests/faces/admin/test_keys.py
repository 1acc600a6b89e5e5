"""API keys in the admin: made and shown once, watched, and revoked, by owners alone."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from tests.faces.admin.visitor import Visitor, staff, visitor
from tests.log_lines import capture_logs
from tests.world import TenantWorld, World

from masthead.base import clock
from masthead.engine.records.collection import Record
from masthead.identity.api_keys import api_keys, create_key
from masthead.identity.scopes import SCOPES

KEYS = "/admin/settings/keys"
_KEY = re.compile(r"mh_live_[0-9A-Za-z]{46}")
FORM = {"name": "Static site build", "expires": "", "scopes.posts:read": "on"}


async def stored(tenant: TenantWorld) -> list[Record]:
    return await tenant.world.parts.records.find(api_keys, {}, tenant_id=tenant.id, limit=10)


async def made(owner: Visitor, **form: str) -> str:
    answer = await owner.post(KEYS, FORM | form)
    assert answer.status_code == 200, answer.text
    (key,) = set(_KEY.findall(answer.text))
    return str(key)


async def call(tenant: TenantWorld, key: str, path: str = "posts") -> int:
    headers = {"authorization": f"Bearer {key}"}
    return (await tenant.guest.get(f"/api/v1/{path}", headers=headers)).status_code


async def test_a_key_is_made_with_scopes_and_calls_the_api(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get(KEYS)).text
    assert "No keys yet" in page
    for scope, what in SCOPES.items():
        assert f"<code>{scope}</code>" in page
        assert what[1:] in page.replace("&#39;", "'")
    key = await made(owner)
    assert (await call(tenant, key), await call(tenant, key, "media")) == (200, 403)


async def test_a_key_is_shown_once_and_stored_nowhere(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    with capture_logs() as logs:
        answer = await owner.post(KEYS, FORM)
    (key,) = set(_KEY.findall(answer.text))
    assert answer.headers["cache-control"] == "no-store"
    assert key not in str(answer.headers)
    assert key not in str(logs)
    [record] = await stored(tenant)
    assert key not in str(record)
    page = (await owner.get(KEYS)).text
    assert not _KEY.search(page)
    assert record["prefix"] in page


async def test_the_list_says_when_a_key_was_used_and_when_it_expires(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    key = await made(owner, expires="90")
    assert "Never used" in (await owner.get(KEYS)).text
    await call(tenant, key)
    await tenant.world.parts.keys.flush()
    page = (await owner.get(KEYS)).text
    assert "Just now" in page
    [record] = await stored(tenant)
    expected = tenant.world.clock() + timedelta(days=90)
    assert record["expires_at"] == clock.to_text(expected)
    assert f"Expires {expected.day} {expected:%b %Y}" in page


async def test_the_calls_of_each_key_are_a_chart_of_30_days(
    app: World, tenant: TenantWorld
) -> None:
    owner, _ = await staff(tenant, "owner")
    laptop, screen = await made(owner, name="laptop"), await made(owner, name="screen")
    assert (await owner.get(KEYS)).text.count("no calls") == 2
    for _ in range(2):
        await call(tenant, laptop)
    app.clock.advance(days=29)
    for _ in range(3):
        await call(tenant, laptop)
    await call(tenant, screen)
    await app.parts.keys.flush()
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get(KEYS)).text
    assert 'aria-label="5 calls of laptop in 30 days, most on 13 Dec with 3"' in page
    assert 'aria-label="1 call of screen in 30 days, most on 13 Dec with 1"' in page
    assert 'aria-label="6 calls of all keys in 30 days, most on 13 Dec with 4"' in page
    app.clock.advance(days=1)
    owner, _ = await staff(tenant, "owner")
    assert 'aria-label="3 calls of laptop in 30 days' in (await owner.get(KEYS)).text


async def test_an_expired_key_is_listed_apart(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    expires = clock.to_text(tenant.world.clock() - timedelta(days=1))
    await create_key(
        tenant.world.parts.records, tenant.id, "Old", ["posts:read"], expires_at=expires
    )
    page = (await owner.get(KEYS)).text
    assert ("Old" not in page, f"{KEYS}?show=ended" in page) == (True, True)
    page = (await owner.get(f"{KEYS}?show=ended")).text
    assert "Old" in page
    assert "Expired" in page


async def test_revoking_asks_first_and_holds_at_once(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    key = await made(owner)
    [record] = await stored(tenant)
    address = f"{KEYS}/{record['id']}/revoke"
    assert "Revoke Static site build?" in (await owner.get(address)).text
    assert await call(tenant, key) == 200
    page = await owner.follow(await owner.post(address))
    assert "Static site build is revoked" in page
    assert await call(tenant, key) == 401
    [first] = await stored(tenant)
    tenant.world.clock.advance(minutes=1)
    await owner.post(address)
    assert await stored(tenant) == [first]


@pytest.mark.parametrize(
    ("form", "field"),
    [({"name": ""}, "name"), ({"name": "x" * 101}, "name"), ({"expires": "9"}, "expires")],
)
async def test_what_is_wrong_is_said_and_what_was_typed_stays(
    tenant: TenantWorld, form: dict[str, str], field: str
) -> None:
    owner, _ = await staff(tenant, "owner")
    answer = await owner.post(KEYS, FORM | form)
    assert answer.status_code == 422
    assert f'href="#{field}"' in answer.text
    assert 'name="scopes.posts:read" checked' in answer.text
    assert await stored(tenant) == []


async def test_a_key_needs_a_scope(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    answer = await owner.post(KEYS, {"name": "Nothing", "expires": "", "scopes.all:all": "on"})
    assert (answer.status_code, "at least one scope" in answer.text) == (422, True)
    assert 'value="Nothing"' in answer.text


async def test_the_page_says_the_limits_of_the_plan_and_the_calls_of_today(
    app: World, tenant: TenantWorld
) -> None:
    owner, _ = await staff(tenant, "owner")
    key = await made(owner)
    assert "Today 0 of 100,000 calls, Business plan" in (await owner.get(KEYS)).text
    await call(tenant, key)
    assert "Today 1 of 100,000 calls" in (await owner.get(KEYS)).text
    app.clock.advance(days=1)
    owner, _ = await staff(tenant, "owner")
    assert "Today 0 of 100,000 calls" in (await owner.get(KEYS)).text
    await tenant.update("tenants", tenant.id, {"plan": "enterprise"})
    page = (await owner.get(KEYS)).text
    assert ("no limit" in page, "Enterprise plan" in page) == (True, True)
    await tenant.update("tenants", tenant.id, {"plan": "free"})
    assert "The Free plan has no API." in (await owner.get(KEYS)).text


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_keys_are_for_owners_alone(tenant: TenantWorld, role: str) -> None:
    owner, _ = await staff(tenant, "owner")
    await made(owner)
    [record] = await stored(tenant)
    browser, _ = await staff(tenant, role)
    assert KEYS not in (await browser.get("/admin/more")).text
    for path in (KEYS, f"{KEYS}/{record['id']}/revoke"):
        assert (await browser.get(path)).status_code == 403
        assert (await browser.post(path, FORM)).status_code == 403
    assert await stored(tenant) == [record]


async def test_keys_of_another_site_are_not_there(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    _, key = await create_key(
        other_tenant.world.parts.records, other_tenant.id, "Theirs", ["posts:read"]
    )
    [record] = await stored(other_tenant)
    owner, _ = await staff(tenant, "owner")
    assert "Theirs" not in (await owner.get(KEYS)).text
    address = f"{KEYS}/{record['id']}/revoke"
    assert (await owner.get(address)).status_code == 404
    assert (await owner.post(address)).status_code == 404
    assert await call(other_tenant, key) == 200


async def test_an_operator_makes_keys_in_the_site_they_work_in(
    app: World, tenant: TenantWorld
) -> None:
    operator = visitor(app, await app.operator(), tenant.host)
    assert await call(tenant, await made(operator)) == 200


async def test_a_read_only_site_gets_no_new_key(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    await tenant.settings(read_only_mode=True)
    assert (await owner.post(KEYS, FORM)).status_code == 403
    assert await stored(tenant) == []
