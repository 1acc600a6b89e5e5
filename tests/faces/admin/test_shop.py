"""Owners see what was sold, and edit what they sell."""

from __future__ import annotations

import re

import pytest
from tests.faces.admin.visitor import staff
from tests.world import TenantWorld

from masthead.faces.admin.lists import PER_PAGE
from masthead.features.commerce.collection import products
from masthead.features.payments.collection import tiers

PRODUCT = {"name": "Tide clock", "price": "12500", "currency": "eur", "has_active": "1"}
TIER = {
    **{"name": "Friend", "price": "500", "currency": "eur", "interval": "month"},
    **{"benefits": "Every post, and the maps\r\nA card at Christmas", "has_active": "1"},
    "active": "on",
}
PAGES = (
    "/admin/shop/orders",
    "/admin/shop/gift-cards",
    "/admin/shop/products",
    "/admin/shop/tiers",
    "/admin/shop/offers",
)


async def test_a_product_is_made_changed_and_announced(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    made = await owner.post("/admin/shop/products/new", PRODUCT)
    page = await owner.follow(made)
    assert "Tide clock is not for sale" in page
    assert "€125" in page
    [stored] = await tenant.world.parts.records.find(products, {}, tenant_id=tenant.id)
    path = f"/admin/shop/products/{stored['id']}"
    assert 'value="12500"' in (await owner.get(path)).text
    saved = await owner.post(path, {**PRODUCT, "price": "9900", "active": "on"})
    assert "saved and for sale" in await owner.follow(saved)
    assert await tenant.event_names() == ["product.created", "product.updated"]


async def test_the_menu_shows_the_shop_to_sites_that_sell(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    assert "/admin/shop/" not in (await owner.get("/admin")).text
    # The way there: the settings of payments, and the search.
    assert 'href="/admin/shop/products"' in (await owner.get("/admin/settings/payments")).text
    found = await owner.get("/admin/palette?q=prod", **{"hx-request": "true"})
    assert 'href="/admin/shop/products"' in found.text
    assert 'href="/admin/shop/orders"' in (await owner.get("/admin/shop/products")).text
    await owner.post("/admin/shop/products/new", PRODUCT)
    assert 'href="/admin/shop/orders"' in (await owner.get("/admin")).text


async def test_what_is_wrong_is_said_and_nothing_typed_is_lost(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    for address in ("/admin/shop/products/new", "/admin/shop/tiers/new"):
        answer = await owner.post(address, {"name": "", "price": "-5", "currency": "eur"})
        assert answer.status_code == 422
        assert 'id="name-error"' in answer.text
        assert 'id="price-error"' in answer.text
        assert 'value="-5"' in answer.text


async def test_a_membership_has_its_benefits_line_by_line(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    await owner.follow(await owner.post("/admin/shop/tiers/new", TIER))
    [stored] = await tenant.world.parts.records.find(tiers, {}, tenant_id=tenant.id)
    assert stored["benefits"] == ["Every post, and the maps", "A card at Christmas"]
    page = (await owner.get(f"/admin/shop/tiers/{stored['id']}")).text
    assert "Every post, and the maps\nA card at Christmas" in page
    assert "Friend" in (await tenant.guest.get("/member/tiers")).text


async def test_orders_are_filtered_and_go_on_by_pages(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    sold = {"total": 1250, "currency": "eur", "status": "paid"}
    for number in range(PER_PAGE + 1):
        await tenant.create("orders", {**sold, "email": f"buyer{number}@example.com"})
    await tenant.create("orders", {**sold, "email": "ana@example.com", "status": "refunded"})
    page = (await owner.get("/admin/shop/orders?status=paid")).text
    assert f"1–{PER_PAGE} of {PER_PAGE + 1}" in page
    assert "ana@example.com" not in page
    (older,) = set(re.findall(r'href="(/admin/shop/orders\?status=paid&amp;after=[^"]*)"', page))
    assert "buyer0@" in (await owner.get(older.replace("&amp;", "&"))).text
    found = (await owner.get("/admin/shop/orders?email=Ana@example.com")).text
    assert "Refunded" in found
    assert "buyer1@" not in found


async def test_an_order_shows_what_was_bought_whatever_its_items_are(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    sold = {"email": "ana@example.com", "total": 1250, "currency": "eur", "refunded_amount": 50}
    items = [{"name": "<b>Lamp</b>", "quantity": 2, "price": 600}, "a mystery", None, {"x": 1}]
    order = await tenant.create("orders", {**sold, "items": items})
    page = (await owner.get(f"/admin/shop/orders/{order['id']}")).text
    assert "&lt;b&gt;Lamp" in page
    assert "€6" in page
    assert "€0.50" in page
    odd = await tenant.create("orders", {**sold, "items": {"not": "a list"}, "currency": ""})
    assert (await owner.get(f"/admin/shop/orders/{odd['id']}")).status_code == 200


async def test_a_gift_cards_code_is_whole_on_its_own_page_alone(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    card = {"code": "HARBOUR-7781-9921", "amount": 5000, "currency": "eur"}
    made = await tenant.create("gift_cards", card)
    assert "HARBOUR" not in (await owner.get("/admin/shop/gift-cards")).text
    assert card["code"] in (await owner.get(f"/admin/shop/gift-cards/{made['id']}")).text


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_the_shop_is_for_owners(tenant: TenantWorld, role: str) -> None:
    person, _ = await staff(tenant, role)
    order = await tenant.create("orders", {"email": "ana@example.com"})
    product = await tenant.create("products", {"name": "Lamp"})
    tier = await tenant.create("tiers", {"name": "Friend", "price": 500, "currency": "eur"})
    ids = {"orders": order["id"], "products": product["id"], "tiers": tier["id"]}
    for path in (*PAGES, *(f"/admin/shop/{name}/{found}" for name, found in ids.items())):
        answer = await person.get(path)
        assert answer.status_code in (403, 404), path
        assert "ana@example.com" not in answer.text
    for name in ("products", "tiers"):
        for path in (f"/admin/shop/{name}/new", f"/admin/shop/{name}/{ids[name]}"):
            answer = await person.post(path, {**PRODUCT, **TIER, "name": "Forged"})
            assert answer.status_code in (403, 404), path
    assert "/admin/shop" not in (await person.get("/admin/more")).text


async def test_another_sites_orders_are_not_found(tenant: TenantWorld) -> None:
    order = await tenant.create("orders", {"email": "ana@example.com"})
    other = await tenant.world.new_tenant("other")
    stranger, _ = await staff(other, "owner")
    assert (await stranger.get(f"/admin/shop/orders/{order['id']}")).status_code == 404
    assert "ana@" not in (await stranger.get("/admin/shop/orders")).text


async def test_gift_cards_say_what_they_give_and_their_state(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    tier = {"name": "Harbour master", "price": 900, "currency": "eur"}
    tier_id = (await tenant.create("tiers", tier))["id"]
    gift = {"kind": "membership", "tier_id": tier_id, "months": 3, "buyer_email": "bo@example.com"}
    states = {
        "Open": {},
        "Redeemed": {"redeemed": True},
        "Void": {"voided_at": "2026-11-01 09:00:00Z"},
        "To be emailed": {"send_on": "2099-12-24 08:00:00Z"},
    }
    for state, values in states.items():
        card = await tenant.create("gift_cards", {**gift, **values, "code": f"GIFT-{state}"})
        listed = (await owner.get("/admin/shop/gift-cards")).text
        shown = (await owner.get(f"/admin/shop/gift-cards/{card['id']}")).text
        assert "Harbour master, 3 months" in " ".join(listed.split())
        assert f">{state}</span>" in listed
        assert f">{state}</span>" in shown
        assert "3 months of Harbour master" in " ".join(shown.split())
        assert "bo@example.com" in shown
