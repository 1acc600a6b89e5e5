"""A form with more fields than its page has: each field of its record, in any spelling, and those
of the site. Only what the form asks for is saved."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import OWN, Visitor, staff
from tests.world import TenantWorld

from masthead.base import ids
from masthead.engine.records.collection import Collection, Record

ENGINES = ("id", "tenant_id", "created", "updated", "version")
HOSTILE = {
    "role": "owner",
    "plan": "enterprise",
    "status": "active",
    "tier": "paid",
    "verified": "on",
    "code_allowed": "on",
    "per_minute": "99999",
    "token_key": "k" * 40,
    "password_hash": "x",
    "payment_customer_id": "cus_theirs",
    "version": "99",
    "created": "2020-01-01 00:00:00.000Z",
}


NEVER = {
    *("id", "tenant_id", "created", "owner", "email", "token_key", "password_hash", "slug"),
    *("verified", "code_allowed", "payment_customer_id", "payment_price_id", "custom_domain"),
    *(
        "app_secret",
        "recovery_hashes",
        "passkeys",
        "former_link_keys",
        "access_until",
        "deleted_at",
    ),
}
"""Fields that none of these forms asks for."""


async def settings_of(tenant: TenantWorld) -> Record:
    collection = tenant.world.collection("site_settings")
    return await tenant.world.parts.records.require(collection, {}, tenant_id=tenant.id)


async def record_of(tenant: TenantWorld, collection: Collection, record_id: str) -> Record:
    found = await tenant.world.parts.records.require(
        collection, {"id": record_id}, tenant_id=tenant.id
    )
    return dict(found)


def more_than(on_page: set[str], collection: Collection, other: TenantWorld) -> dict[str, str]:
    """A value for every field that the page does not ask for."""
    values = HOSTILE | {"tenant_id": other.id, "id": ids.new_id(), "owner": ids.new_id()}
    names = {*(each.name for each in collection.fields), *ENGINES, *HOSTILE}
    more: dict[str, str] = {}
    for name in names - on_page:
        more[name] = value = values.get(name, "on")
        if name in values:
            more |= {f"has_{name}": "1", f"{name}[]": value, f"record.{name}": value}
    return more


@pytest.mark.parametrize(
    ("role", "address", "collection"),
    [
        ("contributor", "/admin/account", "_superusers"),
        ("author", "/admin/account", "_superusers"),
        ("editor", "/admin/account", "_superusers"),
        ("contributor", "/admin/posts/{}", "posts"),
        ("author", "/admin/posts/{}", "posts"),
        ("owner", "/admin/members/{}", "blog_members"),
        ("owner", "/admin/settings", "site_settings"),
        ("owner", "/admin/settings/design", "site_settings"),
        ("owner", "/admin/staff/{}", "_superusers"),
    ],
)
async def test_a_form_saves_what_it_asks_for_and_nothing_else(
    tenant: TenantWorld, other_tenant: TenantWorld, role: str, address: str, collection: str
) -> None:
    browser, account = await staff(tenant, role)
    made = {
        "posts": (await tenant.post(title="Fog", authors=[account.id]))["id"],
        "blog_members": (await tenant.member()).id,
        "site_settings": (await settings_of(tenant))["id"],
        "_superusers": account.id,
    }
    if "staff" in address:
        made["_superusers"] = (await tenant.owner(role="author")).id
    kind, record_id = tenant.world.collection(collection), made[collection]
    path = address.format(record_id)
    page = (await browser.get(path)).text
    asked = filled(page)
    on_page = {each.partition(".")[0] for each in re.findall(r' name="([\w.]+)"', page)}
    before = await record_of(tenant, kind, record_id)
    site = await record_of(tenant, tenant.world.collection("tenants"), tenant.id)
    more = more_than(on_page, kind, other_tenant)
    answer = await send(browser, path, more | asked)
    assert answer.status_code == 303, answer.text
    after = await record_of(tenant, kind, record_id)
    assert changed(before, after) & NEVER == set()
    assert await record_of(tenant, tenant.world.collection("tenants"), tenant.id) == site
    if role != "owner":
        assert changed(before, after) & {"role", "authors", "status", "published_at"} == set()


async def send(browser: Visitor, path: str, form: dict[str, Any]) -> Any:
    token = {"form_token": await browser.token()}
    return await browser.api.post(path, data={**form, **token}, headers=OWN)


def changed(before: Record, after: Record) -> set[str]:
    return {name for name in before if before[name] != after[name]}
