"""The hard delete after the grace period, in small steps that can be cut off anywhere.

Each step finds what is still there, removes it in a transaction of its own and counts it on the
receipt in the same transaction; running again goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import structlog

from masthead import clock
from masthead.caller import system
from masthead.identity.tenants import tenants
from masthead.ids import TenantId
from masthead.mail.outbox import Outbox
from masthead.members.collection import blog_members
from masthead.privacy import letters
from masthead.privacy.asking import TENANT
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import Exports
from masthead.privacy.pace import Pace
from masthead.privacy.personal import (
    FATES,
    Fate,
    Person,
    concerned,
    person_of,
    traits,
    without_person,
)
from masthead.privacy.receipts import FILES, Receipt
from masthead.privacy.requests import Requests
from masthead.privacy.rows import (
    EVENTS_PER_LOOK,
    FEWEST_ROWS,
    MOST_ROWS,
    Batch,
    PersonTraces,
    TenantRows,
)
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.records.unit import Unit
from masthead.storage.compaction import Fold
from masthead.storage.database import Transaction, scope_of
from masthead.storage.objects import ObjectStore

SLICE_SECONDS = 10.0
"""How long a job works before it lets others have their turn."""
STEP = 100

log = structlog.get_logger()


class _SliceOver(Exception):
    """Enough for now; the next job goes on."""


class Erasure:
    def __init__(
        self,
        records: Records,
        objects: ObjectStore,
        mail: Outbox,
        requests: Requests,
        exports: Exports,
        rows: TenantRows,
        traces: PersonTraces,
        folding: Callable[[], AbstractAsyncContextManager[Fold]],
    ) -> None:
        self._records = records
        self._objects = objects
        self._mail = mail
        self._requests = requests
        self._exports = exports
        self._rows = rows
        self._traces = traces
        self._folding = folding

    async def run(self, request: Record, *, slice_seconds: float = SLICE_SECONDS) -> bool:
        """True when nothing is left to do, False when the time was over before."""
        erase = self._erase_tenant if request["subject"] == TENANT else self._erase_member
        try:
            await erase(request, time.monotonic() + slice_seconds)
        except _SliceOver:
            return False
        log.info("privacy.erased", request_id=request["id"], subject=request["subject"])
        return True

    # A tenant

    async def _erase_tenant(self, request: Record, deadline: float) -> None:
        tenant_id = TenantId(request["tenant_id"])
        await self._remove_files(tenant_id, request)
        async with self._folding() as fold:
            pace = Pace(self._records.database, fold, fewest=FEWEST_ROWS, most=MOST_ROWS)
            for batch in self._rows.batches:
                remove = self._run_batch if batch.keys is None else self._run_keyed_batch
                await remove(request, batch, pace, deadline)
        await self._remove_files(tenant_id, request)
        await self._send_tenant_receipt(request)
        now = clock.to_text(self._records.clock())
        async with self._records.database.transaction(scope_of(tenant_id)) as tx:
            receipt = Receipt.parse(await self._rows.receipt(tx, tenant_id, request["id"]))
            receipt.erased["tenants"] = 1
            await self._rows.finish(tx, tenant_id, request["id"], receipt.text(), now)

    async def _remove_files(self, tenant_id: TenantId, request: Record) -> None:
        """Uploads, their thumbs and every export are kept under the tenant's id."""
        removed = await self._objects.delete_prefix(tenant_id)
        if removed:
            async with self._records.database.transaction(scope_of(tenant_id)) as tx:
                await self._count(tx, request, FILES, removed)

    async def _run_batch(self, request: Record, batch: Batch, pace: Pace, deadline: float) -> None:
        tenant_id, count = TenantId(request["tenant_id"]), 1
        while count:
            async with pace.step(scope_of(tenant_id)) as tx:
                count = await self._rows.run(tx, batch, tenant_id, request["id"], pace.size)
                if count and batch.removes:
                    await self._count(tx, request, batch.table, count)
            if count:
                _check(deadline)

    async def _run_keyed_batch(
        self, request: Record, batch: Batch, pace: Pace, deadline: float
    ) -> None:
        tenant_id = TenantId(request["tenant_id"])
        while keys := await self._rows.keys(batch, tenant_id, request["id"]):
            while keys:
                step, keys = keys[: pace.size], keys[pace.size :]
                async with pace.step(scope_of(tenant_id)) as tx:
                    count = await self._rows.remove(tx, batch, tenant_id, request["id"], step)
                    if count:
                        await self._count(tx, request, batch.table, count)
                _check(deadline)

    async def _count(self, tx: Transaction, request: Record, what: str, count: int) -> None:
        tenant_id, request_id = TenantId(request["tenant_id"]), request["id"]
        receipt = Receipt.parse(await self._rows.receipt(tx, tenant_id, request_id))
        receipt.erased[what] += count
        await self._rows.note(tx, tenant_id, request_id, receipt.text())

    async def _send_tenant_receipt(self, request: Record) -> None:
        """Queued by the platform, for the tenant's own mails are gone. Before the last step,
        which takes the owner's address with it: a crash in between sends it twice."""
        tenant_id = TenantId(request["tenant_id"])
        if not await self._records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id):
            return
        site = await self._requests.site(tenant_id)
        people = await self._requests.addressees(request)
        current = await self._requests.find(request["id"])
        receipt = Receipt.of(current["receipt"] if current else None)
        async with self._records.unit(system()) as unit:
            for each in people:
                mail = letters.deletion_done(
                    site,
                    each,
                    whole_site=True,
                    request_id=request["id"],
                    erased=receipt.erased_lines(),
                    kept=receipt.kept_lines(),
                )
                await self._mail.queue(unit, mail)

    # A member

    async def _erase_member(self, request: Record, deadline: float) -> None:
        tenant_id = TenantId(request["tenant_id"])
        found = await self._records.find(
            blog_members, {"id": request["member_id"]}, tenant_id=tenant_id
        )
        if not found:
            # Somebody deleted the member during the grace period.
            await self._requests.close(request, "completed")
            return
        person = person_of(found[0])
        await self._forget_events(tenant_id, request, person)
        await self._expire_exports(tenant_id, person)
        for collection in concerned(self._records.registry):
            if collection is not blog_members:
                while await self._treat(tenant_id, request, collection, person):
                    _check(deadline)
        await self._finish_member(request, found[0], person)

    async def _forget_events(self, tenant_id: TenantId, request: Record, person: Person) -> None:
        """First, while the person's records can still be told from others'."""
        about = await self._record_ids(tenant_id, person)
        after, email = (0, -1), person.email
        while True:
            async with self._records.unit(system(tenant_id), emit_events=False) as unit:
                rows = await self._traces.look(unit, after)
                hits = [
                    event_id
                    for _, _, event_id, record_id, payload in rows
                    if record_id in about or person.id in payload or email in payload.lower()
                ]
                if hits:
                    await self._traces.forget_events(unit, hits)
                    await _note(unit, request, Receipt(Counter(events=len(hits))))
            if len(rows) < EVENTS_PER_LOOK:
                return
            after = (rows[-1][0], rows[-1][1])
            await asyncio.sleep(0)

    async def _record_ids(self, tenant_id: TenantId, person: Person) -> set[str]:
        about: set[str] = set()
        for collection in concerned(self._records.registry):
            for trait in traits(collection, person):
                found = await self._records.find(
                    collection, trait, tenant_id=tenant_id, limit=100_000
                )
                about.update(each["id"] for each in found)
        return about

    async def _expire_exports(self, tenant_id: TenantId, person: Person) -> None:
        exports = await self._records.find(
            gdpr_requests,
            {"member_id": person.id, "type": "export"},
            tenant_id=tenant_id,
            limit=1_000,
        )
        for export in exports:
            if export["status"] in ("queued", "ready"):
                await self._exports.expire(export)

    async def _treat(
        self,
        tenant_id: TenantId,
        request: Record,
        collection: Collection,
        person: Person,
    ) -> bool:
        """A step of a collection: its records go, or become nobody's. False when none is left."""
        done = Receipt()
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            for trait in traits(collection, person):
                for record in await unit.find(collection, trait, STEP):
                    # The request is found by its member as well, and has its own end.
                    if record["id"] != request["id"]:
                        await _treat_one(unit, collection, record, person, done)
            if done:
                await _note(unit, request, done)
        return bool(done)

    async def _finish_member(self, request: Record, member: Record, person: Person) -> None:
        """The member, whatever else holds the address, the receipt: one transaction."""
        tenant_id = TenantId(request["tenant_id"])
        site = await self._requests.site(tenant_id)
        people = await self._requests.addressees(request)
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            (current,) = await unit.find(gdpr_requests, {"id": request["id"]}, 1)
            receipt = Receipt.of(current["receipt"])
            receipt.erased["traces"] += await self._traces.forget_address(unit, person.email)
            await unit.delete(blog_members, member["id"])
            receipt.erased["blog_members"] = 1
            await unit.update(
                gdpr_requests,
                request["id"],
                {},
                stamped={
                    "status": "completed",
                    "completed_at": clock.to_text(self._records.clock()),
                    "receipt": receipt.as_json(),
                    "token_hash": "",
                    "confirm_hash": "",
                    "notify_email": "",
                },
            )
            for each in people:
                mail = letters.deletion_done(
                    site,
                    each,
                    whole_site=False,
                    request_id=request["id"],
                    erased=receipt.erased_lines(),
                    kept=receipt.kept_lines(),
                )
                await self._mail.queue(unit, mail)


async def _treat_one(
    unit: Unit, collection: Collection, record: Record, person: Person, done: Receipt
) -> None:
    """What is nobody's already is found again by its id, and left as it is."""
    if FATES.get(collection.name) is Fate.DELETED:
        await unit.delete(collection, record["id"])
        done.erased[collection.name] += 1
        return
    changes = without_person(collection, record, person)
    if changes:
        await unit.update(collection, record["id"], {}, stamped=changes)
        done.kept[collection.name] += 1


async def _note(unit: Unit, request: Record, done: Receipt) -> None:
    """Adds to the receipt as it is stored now, in the transaction of what was done."""
    (current,) = await unit.find(gdpr_requests, {"id": request["id"]}, 1)
    receipt = Receipt.of(current["receipt"])
    receipt.add(done)
    await unit.update(gdpr_requests, request["id"], {}, stamped={"receipt": receipt.as_json()})


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise _SliceOver
