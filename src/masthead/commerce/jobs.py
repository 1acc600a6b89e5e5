"""Marks carts as abandoned, which sends `cart.abandoned`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from masthead import clock
from masthead.caller import system
from masthead.commerce.collection import carts
from masthead.ids import TenantId
from masthead.records.engine import Records

ABANDONED_AFTER = timedelta(hours=24)
CART_BATCH = 100


async def mark_abandoned(records: Records, *, batch_size: int = CART_BATCH) -> None:
    """Marks all carts that have been idle for long enough, in batches."""
    until = records.clock() - ABANDONED_AFTER
    while idle := await records.due(carts, "idle_since", until, batch_size):
        for tenant_id, cart_ids in idle.items():
            await _mark(records, tenant_id, cart_ids, until)


async def _mark(
    records: Records, tenant_id: TenantId, cart_ids: Iterable[str], until: datetime
) -> None:
    async with records.unit(system(tenant_id)) as unit:
        for cart_id in cart_ids:
            # Another worker may have marked it, or the customer has come back.
            found = await unit.find(carts, {"id": cart_id}, limit=1)
            if found and "" < found[0]["idle_since"] <= clock.to_text(until):
                await unit.update(carts, cart_id, {"status": "abandoned"})
