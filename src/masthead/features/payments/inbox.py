"""Which payment events were processed and what was refunded, stored in the transaction of the
changes that the events cause."""

from __future__ import annotations

import msgspec

from masthead.base.ids import TenantId
from masthead.engine.records.write.unit import Unit
from masthead.features.payments.payloads import PaymentEvent, Refund
from masthead.features.payments.tables import payment_inbox, payment_refunds, payment_refusals
from masthead.storage.database import Database, scope_of
from masthead.storage.table_rows import TableRows


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
        self._events = TableRows(database, payment_inbox)
        self._refunds = TableRows(database, payment_refunds)
        self._refusals = TableRows(database, payment_refusals)

    async def has(self, tenant_id: TenantId, event: PaymentEvent) -> bool:
        """Checked before the write transaction begins, because repeats are common."""
        key = {"tenant_id": tenant_id, "event_id": event.id}
        found = self._events.select(("event_id",), key)
        return bool(await self._database.fetch(scope_of(tenant_id), *found))

    async def latest(self, tenant_id: TenantId, most: int) -> list[ReceivedEvent]:
        columns, newest = ("event_id", "type", "received", "note"), ("received", most)
        found = self._events.select(columns, {"tenant_id": tenant_id}, newest=newest)
        rows = await self._database.fetch(scope_of(tenant_id), *found)
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
        return bool(await unit.execute(*self._events.insert_missing(values)))

    async def note(self, unit: Unit, event: PaymentEvent, note: str) -> None:
        """Stores why an event was not applied; the nightly report shows it."""
        key = {"tenant_id": unit.tenant_id, "event_id": event.id}
        await unit.execute(*self._events.update({"note": note}, key))

    async def last_refusal(self, tenant_id: TenantId) -> str:
        """When an event was refused for its signature; '' if none was."""
        found = self._refusals.select(("refused",), {"tenant_id": tenant_id})
        rows = await self._database.fetch(scope_of(tenant_id), *found)
        return rows[0][0] if rows else ""

    async def set_last_refusal(self, unit: Unit, at: str) -> None:
        values = {"tenant_id": unit.tenant_id, "refused": at}
        await unit.execute(*self._refusals.upsert(values))

    async def find_refunded(self, unit: Unit, payment: str) -> Refunded:
        key = {"tenant_id": unit.tenant_id, "payment_id": payment}
        rows = await unit.fetch(*self._refunds.select(("amount", "is_full"), key))
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
        await unit.execute(*self._refunds.upsert(values))
        return total
