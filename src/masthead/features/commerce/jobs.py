"""Marks carts as abandoned, which sends `cart.abandoned`."""

from __future__ import annotations

from datetime import timedelta

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.features.commerce.collection import carts

ABANDONED_AFTER = timedelta(hours=24)
CART_BATCH = 100


async def mark_abandoned(records: Records, *, batch_size: int = CART_BATCH) -> None:
    """Marks all carts that have been idle for long enough, in batches."""
    until = records.clock() - ABANDONED_AFTER

    async def mark(tenant_id: TenantId, cart_ids: list[str]) -> None:
        async with records.unit(system(tenant_id)) as unit:
            for cart_id in cart_ids:
                # Another worker may have marked it, or the customer has come back.
                found = await unit.find_one(carts, {"id": cart_id})
                if found and "" < found["idle_since"] <= clock.to_text(until):
                    await unit.update(carts, cart_id, {"status": "abandoned"})

    await work_off_due(records, carts, "idle_since", until, work=mark, at_once=batch_size)
