"""The tiers of a site in the record store: who may see and change them, and what they may hold."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import Account, TenantWorld, records_of

TIERS = records_of("tiers")
SUPPORTER = {
    "name": "Supporter",
    "price": 400,
    "currency": "gbp",
    "benefits": ["Every long read", "The printed quarterly"],
    "payment_url": "https://pay.example.com/supporter",
    "payment_price_id": "price_month",
}


async def test_an_owner_sells_a_tier(owner: Account) -> None:
    made = await owner.api.post(TIERS, json=SUPPORTER)
    assert made.status_code == 200, made.text
    assert made.json() | SUPPORTER == made.json()
    assert (made.json()["interval"], made.json()["active"]) == ("month", True)
    changed = await owner.api.patch(
        records_of("tiers", made.json()["id"]), json={"interval": "year", "price": 4400}
    )
    assert (changed.json()["interval"], changed.json()["price"]) == ("year", 4400)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("price", 0),
        ("price", -400),
        ("price", 4.5),
        ("price", 10**12),
        ("currency", ""),
        ("currency", "€"),
        ("currency", "euro"),
        ("interval", "week"),
        ("benefits", ["x"] * 13 + ["y" * 201]),
        ("benefits", "lots" * 100),
        ("payment_url", "http://pay.example.com/"),
        ("payment_url", "/pay"),
        ("payment_url", "https://"),
        ("payment_url", "javascript:alert(1)"),
        ("payment_price_id", "price 1"),
        ("payment_price_id", "price_1\r\nHost: x"),
    ],
)
async def test_a_value_that_no_reader_could_be_shown_is_refused(
    owner: Account, name: str, value: Any
) -> None:
    answer = await owner.api.post(TIERS, json={**SUPPORTER, name: value})
    assert answer.status_code == 400, answer.text
    assert set(answer.json()["data"]) == {name}


async def test_guests_and_members_see_what_is_on_sale_without_the_price_id(
    tenant: TenantWorld, member: Account
) -> None:
    sold = await tenant.create("tiers", SUPPORTER)
    hidden = await tenant.create("tiers", {**SUPPORTER, "active": False})
    for api in (tenant.guest, member.api):
        (shown,) = (await api.get(TIERS)).json()["items"]
        assert shown["id"] == sold["id"]
        assert shown["benefits"] == SUPPORTER["benefits"]
        assert "payment_price_id" not in shown
        assert (await api.get(records_of("tiers", hidden["id"]))).status_code == 404
        found = await api.get(TIERS, params={"filter": "payment_price_id != ''"})
        assert found.status_code == 400


@pytest.mark.parametrize("who", ["guest", "member", "editor", "author", "stranger"])
async def test_only_owners_change_where_the_money_goes(
    tenant: TenantWorld, other_tenant: TenantWorld, member: Account, who: str
) -> None:
    sold = await tenant.create("tiers", SUPPORTER)
    others = await other_tenant.owner()
    api = {
        "guest": tenant.guest,
        "member": member.api,
        "editor": (await tenant.owner(role="editor", name="Edith")).api,
        "author": (await tenant.owner(role="author", name="Arthur")).api,
        "stranger": others.api,
    }[who]
    url = {"payment_url": "https://evil.example.com/"}
    one = records_of("tiers", sold["id"])
    statuses = {
        (await api.post(TIERS, json={**SUPPORTER, **url})).status_code,
        (await api.patch(one, json=url)).status_code,
        (await api.delete(one)).status_code,
    }
    expected = {"guest": {401}, "stranger": {200, 404}}.get(who, {403})
    assert statuses == expected
    (left,) = await tenant.world.parts.records.find(
        tenant.world.collection("tiers"), {}, tenant_id=tenant.id, limit=10
    )
    assert left["payment_url"] == SUPPORTER["payment_url"]
