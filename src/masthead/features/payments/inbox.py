"""Which payment events were processed and what was refunded, stored in the transaction of the
changes that the events cause."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.write.unit import Unit
from masthead.features.payments.payloads import PaymentEvent, Refund
from masthead.features.payments.tables import payment_inbox, payment_refunds, payment_refusals
from masthead.storage import dialects
from masthead.storage.database import Database, scope_of


class Refunded(msgspec.Struct, frozen=True):
    amount: int = 0
    is_full: bool = False


class ReceivedEvent(msgspec.Struct, frozen=True):
    id: str
    type: str
    received: str
    note: str
    """Why it was not applied; '' if it was."""


class Inbox:
    def __init__(self, database: Database) -> None:
        self._database = database
        t, r = payment_inbox.c, payment_refunds.c
        this = (t.tenant_id == sa.bindparam("tenant_id"), t.event_id == sa.bindparam("event_id"))
        self._find = database.compile(sa.select(t.event_id).where(*this))
        self._latest = database.compile(
            sa.select(t.event_id, t.type, t.received, t.note)
            .where(t.tenant_id == sa.bindparam("tenant"))
            .order_by(t.received.desc())
            .limit(sa.bindparam("most"))
        )
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
        self._find_refusal = database.compile(
            sa.select(payment_refusals.c.refused).where(
                payment_refusals.c.tenant_id == sa.bindparam("tenant_id")
            )
        )
        self._set_refusal = database.compile(
            dialects.upsert_set(payment_refusals, ("tenant_id",), ("refused",))
        )
        self._set_refund = database.compile(
            dialects.upsert_set(payment_refunds, ("tenant_id", "payment_id"), ("amount", "is_full"))
        )

    async def has(self, tenant_id: TenantId, event: PaymentEvent) -> bool:
        """Checked before the write transaction begins, because repeats are common."""
        values = self._find.bind({"tenant_id": tenant_id, "event_id": event.id})
        return bool(await self._database.fetch(scope_of(tenant_id), self._find, values))

    async def latest(self, tenant_id: TenantId, most: int) -> list[ReceivedEvent]:
        values = self._latest.bind({"tenant": tenant_id, "most": most})
        rows = await self._database.fetch(scope_of(tenant_id), self._latest, values)
        return [ReceivedEvent(*row) for row in rows]

    async def add(self, unit: Unit, event: PaymentEvent, received: str) -> bool:
        """False if the event was added before."""
        values = {
            "tenant_id": unit.tenant_id,
            "event_id": event.id,
            "type": event.type,
            "happened": event.at,
            "received": received,
        }
        return bool(await unit.execute(self._insert, values))

    async def note(self, unit: Unit, event: PaymentEvent, note: str) -> None:
        """Stores why an event was not applied; the nightly report shows it."""
        values = {"key_tenant": unit.tenant_id, "key_event": event.id, "new_note": note}
        await unit.execute(self._set_note, values)

    async def last_refusal(self, tenant_id: TenantId) -> str:
        """When an event was refused for its signature; '' if none was."""
        values = self._find_refusal.bind({"tenant_id": tenant_id})
        rows = await self._database.fetch(scope_of(tenant_id), self._find_refusal, values)
        return rows[0][0] if rows else ""

    async def set_last_refusal(self, unit: Unit, at: str) -> None:
        await unit.execute(self._set_refusal, {"tenant_id": unit.tenant_id, "refused": at})

    async def find_refunded(self, unit: Unit, payment: str) -> Refunded:
        key = {"tenant_id": unit.tenant_id, "payment_id": payment}
        rows = await unit.fetch(self._find_refund, key)
        return Refunded(rows[0][0], bool(rows[0][1])) if rows else Refunded()

    async def add_refund(self, unit: Unit, refund: Refund) -> Refunded:
        """The processor's amounts are cumulative, so the largest is the newest in any order."""
        known = await self.find_refunded(unit, refund.payment)
        total = Refunded(max(known.amount, refund.amount), known.is_full or refund.is_full)
        values = {
            "tenant_id": unit.tenant_id,
            "payment_id": refund.payment,
            "amount": total.amount,
            "is_full": total.is_full,
        }
        await unit.execute(self._set_refund, values)
        return total
