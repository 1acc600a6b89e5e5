"""Which payment events were taken, and what was paid back: rows of the same transaction as what
the events cause."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from masthead.ids import TenantId
from masthead.payments.shapes import PaymentEvent, Refund
from masthead.payments.tables import payment_inbox, payment_refunds
from masthead.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import Database, scope_of


@dataclass(frozen=True, slots=True)
class PaidBack:
    amount: int = 0
    is_full: bool = False


class Inbox:
    def __init__(self, database: Database) -> None:
        self._database = database
        t, r = payment_inbox.c, payment_refunds.c
        this = (t.tenant_id == sa.bindparam("tenant_id"), t.event_id == sa.bindparam("event_id"))
        self._find = database.compile(sa.select(t.event_id).where(*this))
        self._insert = database.compile(
            dialects.insert_missing(
                payment_inbox, ("tenant_id", "event_id"), ("type", "happened", "received")
            )
        )
        self._set_note = database.compile(
            sa.update(payment_inbox)
            .where(
                t.tenant_id == sa.bindparam("key_tenant"), t.event_id == sa.bindparam("key_event")
            )
            .values(note=sa.bindparam("new_note"))
        )
        self._find_refund = database.compile(
            sa.select(r.amount, r.is_full).where(
                r.tenant_id == sa.bindparam("tenant_id"), r.payment_id == sa.bindparam("payment_id")
            )
        )
        self._set_refund = database.compile(
            dialects.upsert_set(payment_refunds, ("tenant_id", "payment_id"), ("amount", "is_full"))
        )

    async def has(self, tenant_id: TenantId, event: PaymentEvent) -> bool:
        """Asked before the tenant's turn to write is taken: repeats are common and cost nothing."""
        values = self._find.bind({"tenant_id": tenant_id, "event_id": event.id})
        return bool(await self._database.fetch(scope_of(tenant_id), self._find, values))

    async def take(self, unit: Unit, event: PaymentEvent, received: str) -> bool:
        """False when the event was taken before."""
        values = {
            "tenant_id": unit.tenant_id,
            "event_id": event.id,
            "type": event.type,
            "happened": event.at,
            "received": received,
        }
        return bool(await unit.execute(self._insert, values))

    async def note(self, unit: Unit, event: PaymentEvent, note: str) -> None:
        """Says why an event was not acted on; the nightly report shows it."""
        values = {"key_tenant": unit.tenant_id, "key_event": event.id, "new_note": note}
        await unit.execute(self._set_note, values)

    async def paid_back(self, unit: Unit, payment: str) -> PaidBack:
        key = {"tenant_id": unit.tenant_id, "payment_id": payment}
        rows = await unit.fetch(self._find_refund, key)
        return PaidBack(rows[0][0], bool(rows[0][1])) if rows else PaidBack()

    async def note_refund(self, unit: Unit, refund: Refund) -> PaidBack:
        """The processor's amounts add up, so the largest is the newest whatever came last."""
        known = await self.paid_back(unit, refund.payment)
        total = PaidBack(max(known.amount, refund.amount), known.is_full or refund.is_full)
        values = {
            "tenant_id": unit.tenant_id,
            "payment_id": refund.payment,
            "amount": total.amount,
            "is_full": total.is_full,
        }
        await unit.execute(self._set_refund, values)
        return total
