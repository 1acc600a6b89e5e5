"""Abandoned carts: marked by the worker, with one event."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import TenantWorld, World, records_of

from masthead.features.commerce.jobs import mark_abandoned
from masthead.service.background import job_runner

CART = {"email": "ada@example.com", "items": [{"name": "Pen", "quantity": 2}]}


async def work(app: World) -> None:
    """Does the chores that a worker does at its start."""
    await job_runner(app.parts).do_chores()


async def told(tenant: TenantWorld) -> list[dict[str, Any]]:
    return [payload for name, payload in await tenant.events() if name == "cart.abandoned"]


async def test_a_cart_is_abandoned_24_hours_after_its_last_change(
    app: World, tenant: TenantWorld
) -> None:
    owner = await tenant.owner()
    cart = (await owner.api.post(records_of("carts"), json=CART)).json()
    app.clock.advance(hours=23)
    path = records_of("carts", cart["id"])
    more = {"items": [{"name": "Pen", "quantity": 3}]}
    changed = (await owner.api.patch(path, json=more)).json()
    app.clock.advance(hours=23, minutes=59)
    await work(app)
    assert await told(tenant) == []

    app.clock.advance(minutes=2)
    await work(app)

    (payload,) = await told(tenant)
    assert (payload["cart_id"], payload["email"]) == (cart["id"], "ada@example.com")
    assert (payload["items"], payload["last_activity"]) == (more["items"], changed["updated"])
    after = (await (await tenant.owner()).api.get(path)).json()
    assert (after["status"], after["last_activity"]) == ("abandoned", changed["updated"])


async def test_a_cart_sends_one_event(app: World, tenant: TenantWorld) -> None:
    cart = await tenant.create("carts", CART)
    for change in ({"status": "open"}, {"status": "abandoned"}, {"status": "open"}):
        app.clock.advance(hours=25)
        await work(app)
        await work(app)
        await tenant.update("carts", cart["id"], change)
    app.clock.advance(hours=25)
    await work(app)
    assert len(await told(tenant)) == 1


@pytest.mark.parametrize(
    "values",
    [{"items": []}, {"items": None}, {"status": "paid"}],
    ids=["no items", "null items", "paid"],
)
async def test_a_cart_without_items_or_paid_is_not_abandoned(
    app: World, tenant: TenantWorld, values: dict[str, Any]
) -> None:
    cart = await tenant.create("carts", CART | values)
    app.clock.advance(days=3)
    await work(app)
    found = await app.parts.records.find(
        app.collection("carts"), {"id": cart["id"]}, tenant_id=tenant.id
    )
    assert found[0]["status"] == cart["status"]
    assert await told(tenant) == []


async def test_a_given_last_activity_counts(app: World, tenant: TenantWorld) -> None:
    touched = "2026-11-10T08:00:00.000Z"
    await tenant.create("carts", CART | {"last_activity": touched})
    await work(app)
    assert [payload["last_activity"] for payload in await told(tenant)] == [touched]


async def test_many_carts_of_many_tenants_are_marked_in_batches(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    for _ in range(4):
        await tenant.create("carts", CART)
        await other_tenant.create("carts", CART)
    app.clock.advance(hours=25)
    await mark_abandoned(app.parts.records, batch_size=3)
    assert [len(await told(each)) for each in (tenant, other_tenant)] == [4, 4]
