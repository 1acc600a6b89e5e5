"""Events of one site that name what belongs to another. Its owner knows the secret and signs them,
so every value in them is the owner's to choose."""

from __future__ import annotations

from typing import Any

import pytest
from tests.every_row import rows_of_tenant
from tests.features.payments.processor import (
    Processor,
    bought,
    ended,
    failed,
    joined,
    new_processor,
    refunded,
    subscription,
)
from tests.world import World

pytestmark = pytest.mark.both_databases


async def test_events_of_a_site_reach_nothing_of_another(app: World, processor: Processor) -> None:
    theirs = await new_processor(app)
    tenant = theirs.tenant
    tier = await tenant.create("tiers", {"name": "Supporter", "price": 400, "currency": "usd"})
    product = await tenant.create("products", {"name": "Mug", "slug": "mug", "price": 1900})
    offer = await tenant.create("offers", {"code": "spring", "tier": tier["id"], "value": 5})
    member = await tenant.member(email="free@example.com")
    cart = await tenant.create("carts", {"email": "free@example.com"})
    await theirs.send(joined(), bought())
    [order] = await theirs.find("orders")
    before = await rows_of_tenant(app.parts.database, tenant.id)

    metadata = {
        "tenant_id": tenant.id,
        "tenant_slug": tenant.slug,
        "member_id": member.id,
        "offer_id": offer["id"],
        "product_id": product["id"],
        "order_id": order["id"],
        "cart_id": cart["id"],
    }
    gift = {"gift_tier": tier["id"], "gift_months": "12", "gift_to": "free@example.com"}
    same: dict[str, Any] = {"client_reference_id": member.id, "metadata": metadata}
    await processor.send(
        joined(**same),
        joined(**same | {"customer": None, "subscription": "sub_2"}),
        bought(**same),
        bought(**same | {"id": "cs_3", "payment_intent": "pi_3", "metadata": metadata | gift}),
        subscription("past_due", **same),
        failed(**same),
        refunded(**same),
        ended(**same),
    )

    assert await rows_of_tenant(app.parts.database, tenant.id) == before
    found = await rows_of_tenant(app.parts.database, processor.tenant.id)
    assert found["orders"]
    # What was bought is noted as the event says; nothing else of the other site is.
    named = {tenant.id, tier["id"], *metadata.values()} - {tenant.slug, product["id"]}
    assert [
        (name, each) for name, rows in found.items() for each in named if each in repr(rows)
    ] == []
