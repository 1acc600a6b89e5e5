"""The hard delete after the grace period, in small steps that can be interrupted anywhere.

Each step finds rows that are left, removes them and counts them on the receipt in one transaction,
so running again continues where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing

import msgspec

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.privacy.emails import deletion_done
from masthead.features.privacy.member_erasure import MemberErasure
from masthead.features.privacy.receipts import FILES, Receipt
from masthead.features.privacy.requests import Requests
from masthead.features.privacy.rows import MAX_ROWS, MIN_ROWS, Batch, TenantRows
from masthead.features.privacy.throttle import Throttle, TimeSlice, TimeSliceOver, pause_after
from masthead.features.privacy.validation import TENANT
from masthead.outside.mail.message import Mail
from masthead.outside.mail.outbox import Outbox
from masthead.storage.database import EVERY_TENANT, Transaction, scope_of
from masthead.storage.objects import ObjectStore

SLICE_SECONDS = 10.0


class Erasure(msgspec.Struct, frozen=True):
    records: Records
    objects: ObjectStore
    mail: Outbox
    requests: Requests
    rows: TenantRows
    members: MemberErasure

    async def run(
        self, request: Record, *, email: str = "", slice_seconds: float = SLICE_SECONDS
    ) -> bool:
        """True when nothing is left to do, False when the time slice ended before. `email` is the
        member's address when the deletion took effect: the member may have been deleted since."""
        slice_ = TimeSlice(slice_seconds)
        try:
            if request["subject"] == TENANT:
                await self._erase_tenant(request, slice_)
            else:
                await self.members.erase(request, email, slice_)
        except TimeSliceOver:
            return False
        log.info("privacy.erased", privacy_request_id=request["id"], subject=request["subject"])
        return True

    async def _erase_tenant(self, request: Record, slice_: TimeSlice) -> None:
        await self._remove_files(request, slice_)
        throttle = Throttle(self.records.database, min_size=MIN_ROWS, max_size=MAX_ROWS)
        for batch in self.rows.batches:
            remove = self._run_batch if batch.keys is None else self._run_keyed_batch
            await remove(request, batch, throttle, slice_)
        await self._remove_files(request, slice_)
        await self._finish(request)

    async def _finish(self, request: Record) -> None:
        """Deletes the tenant itself, closes the request and queues the receipt emails in one
        transaction. The platform sends them because the tenant's own emails are deleted."""
        tenant_id = TenantId(request["tenant_id"])
        now = clock.to_text(self.records.clock())
        write = await self._receipt_writer(request)
        async with self.records.database.transaction(EVERY_TENANT) as tx:
            receipt = Receipt.parse(await self.rows.receipt(tx, tenant_id, request["id"]))
            receipt.erased["tenants"] = 1
            if not await self.rows.finish(tx, tenant_id, request["id"], receipt.text(), now=now):
                return
            for mail in write(receipt):
                await self.mail.queue_for_platform(tx, mail)

    async def _receipt_writer(self, request: Record) -> Callable[[Receipt], list[Mail]]:
        """Reads the site and its owner before they are deleted."""
        try:
            site = await self.requests.site(TenantId(request["tenant_id"]))
        except NotFound:
            # Another worker has just finished, and has queued the emails.
            return lambda _: []
        people = await self.requests.addressees(request)

        def write(receipt: Receipt) -> list[Mail]:
            return [deletion_done(request, site, each, receipt) for each in people]

        return write

    async def _remove_files(self, request: Record, slice_: TimeSlice) -> None:
        """The keys of uploads, thumbnails and exports all begin with the tenant's id."""
        tenant_id, began = TenantId(request["tenant_id"]), time.monotonic()
        async with aclosing(self.objects.delete_in_batches(tenant_id)) as batches:
            async for removed in batches:
                async with self.records.database.transaction(scope_of(tenant_id)) as tx:
                    await self._count(tx, request, FILES, removed)
                await pause_after(began)
                slice_.check()
                began = time.monotonic()

    async def _run_batch(
        self, request: Record, batch: Batch, throttle: Throttle, slice_: TimeSlice
    ) -> None:
        tenant_id, count = TenantId(request["tenant_id"]), 1
        while count:
            async with throttle.step(scope_of(tenant_id)) as tx:
                count = await self.rows.run(tx, batch, tenant_id, request["id"], most=throttle.size)
                if count and batch.removes:
                    await self._count(tx, request, batch.table, count)
            if count:
                slice_.check()

    async def _run_keyed_batch(
        self, request: Record, batch: Batch, throttle: Throttle, slice_: TimeSlice
    ) -> None:
        tenant_id = TenantId(request["tenant_id"])
        while keys := await self.rows.keys(batch, tenant_id, request["id"]):
            while keys:
                step, keys = keys[: throttle.size], keys[throttle.size :]
                async with throttle.step(scope_of(tenant_id)) as tx:
                    count = await self.rows.remove(tx, batch, tenant_id, request["id"], keys=step)
                    if count:
                        await self._count(tx, request, batch.table, count)
                slice_.check()

    async def _count(self, tx: Transaction, request: Record, what: str, count: int) -> None:
        tenant_id, request_id = TenantId(request["tenant_id"]), request["id"]
        receipt = Receipt.parse(await self.rows.receipt(tx, tenant_id, request_id))
        receipt.erased[what] += count
        await self.rows.note(tx, tenant_id, request_id, receipt.text())
