"""Offers in the public API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

OFFERS, TIERS = "/api/v1/offers", "/api/v1/tiers"
SUPPORTER = {"name": "Supporter", "price": 500, "currency": "eur"}


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "tiers:read", "tiers:write")


@pytest.fixture
async def half(api: httpx.AsyncClient) -> dict[str, Any]:
    """Half the price."""
    made = await api.post(TIERS, json=SUPPORTER)
    return {"code": "Spring", "tier": made.json()["data"]["id"], "kind": "percent", "value": 50}


async def test_from_creation_to_deletion(api: httpx.AsyncClient, half: dict[str, Any]) -> None:
    answer = await api.post(OFFERS, json={**half, "ends_at": "2030-01-01T00:00:00Z"})
    assert answer.status_code == 201, answer.text
    offer = answer.json()["data"]
    assert offer.keys() == {
        *("id", "code", "tier", "kind", "value", "months", "ends_at", "max_uses", "active"),
        *("uses", "created", "updated"),
    }
    assert (offer["code"], offer["ends_at"]) == ("spring", "2030-01-01T00:00:00.000Z")
    assert (offer["months"], offer["max_uses"], offer["uses"], offer["active"]) == (0, 0, 0, True)
    path = f"{OFFERS}/{offer['id']}"
    assert (await api.get(path)).json() == offer
    assert (await api.get(OFFERS)).json()["items"] == [offer]
    changed = await api.patch(path, json={"kind": "amount", "value": 200, "ends_at": None})
    assert changed.status_code == 200, changed.text
    assert (
        changed.json()["data"].items() >= {"kind": "amount", "value": 200, "ends_at": None}.items()
    )
    assert (await api.delete(path)).status_code == 204
    assert (await api.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"code": ""}, "code"),
        ({"code": None}, "code"),
        ({"code": "half price"}, "code"),
        ({"code": "a/b"}, "code"),
        ({"code": "été"}, "code"),
        ({"code": "x" * 41}, "code"),
        ({"tier": ""}, "tier"),
        ({"tier": "abcdefghij12345"}, "tier"),
        ({"kind": "gift"}, "kind"),
        ({"value": 0}, "value"),
        ({"value": 101}, "value"),
        ({"value": 1.5}, "value"),
        ({"value": "50"}, "value"),
        ({"kind": "amount", "value": 100_000_000}, "value"),
        ({"kind": "trial_days", "value": 366}, "value"),
        ({"kind": "trial_days", "value": 14, "months": 3}, "months"),
        ({"months": -1}, "months"),
        ({"months": 121}, "months"),
        ({"ends_at": "tomorrow"}, "ends_at"),
        ({"max_uses": -1}, "max_uses"),
        ({"active": "yes"}, "active"),
    ],
)
async def test_what_is_refused_is_named(
    api: httpx.AsyncClient, half: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    answer = await api.post(OFFERS, json=half | body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["details"].keys() == {field}


@pytest.mark.parametrize("value", [{"kind": "amount", "value": 101}, {"value": 100}])
async def test_the_largest_value_depends_on_the_kind(
    api: httpx.AsyncClient, half: dict[str, Any], value: dict[str, Any]
) -> None:
    made = await api.post(OFFERS, json=half | value)
    assert made.status_code == 201, made.text
    path = f"{OFFERS}/{made.json()['data']['id']}"
    changed = await api.patch(path, json={"kind": "percent"})
    assert changed.status_code == (422 if value["value"] == 101 else 200)


async def test_a_code_is_taken_in_upper_and_lower_case(
    api: httpx.AsyncClient, half: dict[str, Any], other_tenant: TenantWorld
) -> None:
    assert (await api.post(OFFERS, json=half)).status_code == 201
    for code in ("spring", "SPRING"):
        answer = await api.post(OFFERS, json={**half, "code": code})
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {"code"}
    second = await api.post(OFFERS, json={**half, "code": "autumn"})
    path = f"{OFFERS}/{second.json()['data']['id']}"
    assert (await api.patch(path, json={"code": "sPring"})).status_code == 422
    theirs = await other_tenant.create("tiers", SUPPORTER)
    others = await key_client(other_tenant)
    made = await others.post(OFFERS, json={**half, "tier": theirs["id"]})
    assert made.status_code == 201


async def test_the_counter_is_the_services_own(
    api: httpx.AsyncClient, half: dict[str, Any]
) -> None:
    made = await api.post(OFFERS, json={**half, "uses": 7, "coupon_id": "co_1"})
    offer = made.json()["data"]
    assert offer["uses"] == 0
    changed = await api.patch(f"{OFFERS}/{offer['id']}", json={"uses": 7, "active": False})
    assert changed.json()["data"]["uses"] == 0


async def test_the_tier_of_another_site_is_not_there(
    api: httpx.AsyncClient, half: dict[str, Any], other_tenant: TenantWorld
) -> None:
    theirs = await other_tenant.create("tiers", SUPPORTER)
    answer = await api.post(OFFERS, json={**half, "tier": theirs["id"]})
    assert answer.json()["error"]["details"].keys() == {"tier"}


async def test_a_tier_with_an_offer_stays(api: httpx.AsyncClient, half: dict[str, Any]) -> None:
    made = await api.post(OFFERS, json=half)
    path = f"{TIERS}/{half['tier']}"
    refused = await api.delete(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    assert (await api.get(path)).status_code == 200
    assert (await api.delete(f"{OFFERS}/{made.json()['data']['id']}")).status_code == 204
    assert (await api.delete(path)).status_code == 204
