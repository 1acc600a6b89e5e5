"""The hard delete of one member, in steps that can be interrupted anywhere. Records about the
member are deleted or anonymized, and their address is removed from all other texts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.email_search import EmailSearch
from masthead.features.privacy.email_variants import email_pattern
from masthead.features.privacy.emails import deletion_done
from masthead.features.privacy.export import Exports
from masthead.features.privacy.personal import (
    ERASURE_RULES,
    ErasureRule,
    Person,
    anonymized,
    anonymized_copy,
    member_collections,
    member_filters,
    person_of,
    without_address,
)
from masthead.features.privacy.receipts import Receipt
from masthead.features.privacy.requests import Requests
from masthead.features.privacy.rows import EVENT_PAGE, PersonTraces
from masthead.features.privacy.throttle import TimeSlice
from masthead.features.trash.collection import trash_items
from masthead.outside.mail.outbox import Outbox

BATCH = 100
MAX_REQUESTS = 1_000


class MemberErasure(msgspec.Struct, frozen=True):
    records: Records
    mail: Outbox
    requests: Requests
    exports: Exports
    traces: PersonTraces
    email_search: EmailSearch

    async def erase(self, request: Record, email: str, slice_: TimeSlice) -> None:
        tenant_id = TenantId(request["tenant_id"])
        found = await self.records.find_one(
            blog_members, {"id": request["member_id"]}, tenant_id=tenant_id
        )
        person = person_of(found) if found else await self._find_deleted_member(request, email)
        await self._delete_events(tenant_id, request, person)
        await self._expire_exports(tenant_id, person)
        for collection in member_collections(self.records.registry):
            if collection is not blog_members:
                while await self._erase_batch(tenant_id, request, collection, person):
                    slice_.check()
        await self._remove_address(tenant_id, request, person)
        await self._finish(request, person)

    async def _find_deleted_member(self, request: Record, email: str) -> Person:
        """The member was deleted during the grace period. Their other records are found by the
        address, unless it belongs to another member by now."""
        holders = await self.records.find(
            blog_members, {"email": email}, tenant_id=TenantId(request["tenant_id"])
        )
        return Person(request["member_id"], "" if holders else email, "")

    async def _delete_events(self, tenant_id: TenantId, request: Record, person: Person) -> None:
        """Runs first, while the person's records can still be found."""
        about = await self._record_ids(tenant_id, person)
        after, pattern = (0, -1), email_pattern(person.email)
        while True:
            async with self.records.unit(system(tenant_id), emit_events=False) as unit:
                rows = await self.traces.event_page(unit, after)
                hits = [
                    event_id
                    for _, _, event_id, record_id, payload in rows
                    if record_id in about or person.id in payload or pattern.is_in(payload)
                ]
                if hits:
                    await self.traces.delete_events(unit, hits)
                    await _add_to_receipt(unit, request, Receipt(Counter(events=len(hits))))
            if len(rows) < EVENT_PAGE:
                return
            after = (rows[-1][0], rows[-1][1])
            await asyncio.sleep(0)

    async def _record_ids(self, tenant_id: TenantId, person: Person) -> set[str]:
        about: set[str] = set()
        for collection in member_collections(self.records.registry):
            for member_filter in member_filters(collection, person):
                found = await self.records.find(
                    collection, member_filter, tenant_id=tenant_id, limit=100_000
                )
                about.update(each["id"] for each in found)
                if collection is trash_items:
                    about.update(each["record_id"] for each in found)
        return about

    async def _expire_exports(self, tenant_id: TenantId, person: Person) -> None:
        exports = await self.records.find(
            gdpr_requests,
            {"member_id": person.id, "type": "export"},
            tenant_id=tenant_id,
            limit=1_000,
        )
        for export in exports:
            if export["status"] in ("queued", "ready"):
                await self.exports.expire(export)

    async def _erase_batch(
        self,
        tenant_id: TenantId,
        request: Record,
        collection: Collection,
        person: Person,
    ) -> bool:
        """Deletes or anonymizes a batch of a collection. False when none is left."""
        done = Receipt()
        async with self.records.unit(system(tenant_id), emit_events=False) as unit:
            for member_filter in member_filters(collection, person):
                for record in await unit.find(collection, member_filter, BATCH):
                    # The request itself is found too; `_finish` closes it.
                    if record["id"] != request["id"]:
                        await _erase_record(unit, collection, record, person, done=done)
            if done:
                await _add_to_receipt(unit, request, done)
        return bool(done)

    async def _remove_address(self, tenant_id: TenantId, request: Record, person: Person) -> None:
        """Removes the address from texts of others."""
        async for collection, record_id in self.email_search.find(tenant_id, person.email):
            async with self.records.unit(system(tenant_id), emit_events=False) as unit:
                for record in await unit.find(collection, {"id": record_id}, 1):
                    changes = without_address(collection, record, person.email)
                    if changes:
                        await _write(unit, collection, record_id, changes)
                        done = Receipt(kept=Counter({collection.name: 1}))
                        await _add_to_receipt(unit, request, done)

    async def _finish(self, request: Record, person: Person) -> None:
        """Deletes the member and the remaining rows with the address, and queues the receipt, in
        one transaction."""
        tenant_id = TenantId(request["tenant_id"])
        site = await self.requests.site(tenant_id)
        people = await self.requests.addressees(request)
        async with self.records.unit(system(tenant_id), emit_events=False) as unit:
            (current,) = await unit.find(gdpr_requests, {"id": request["id"]}, 1)
            if current["status"] != "queued":
                return  # another worker has finished it
            receipt = Receipt.of(current["receipt"])
            for member in await unit.find(blog_members, {"id": person.id}, 1):
                await unit.delete(blog_members, member["id"])
                receipt.erased["blog_members"] = 1
            # Last, because it also removes the totals that are zero now, whose names are labels.
            receipt.erased["traces"] += await self.traces.delete_rows_with_address(
                unit, person.email, request["id"]
            )
            await _complete(unit, request, receipt, self.records.clock())
            for each in people:
                await self.mail.queue(unit, deletion_done(request, site, each, receipt))


async def _complete(unit: Unit, request: Record, receipt: Receipt, now: datetime) -> None:
    """Also completes other deletions of the same member: their jobs were deleted with the
    address."""
    ended = {
        "status": "completed",
        "completed_at": clock.to_text(now),
        "token_hash": "",
        "confirm_hash": "",
        "notify_email": "",
    }
    same = {"member_id": request["member_id"], "type": "delete", "status": "queued"}
    for each in await unit.find(gdpr_requests, same, MAX_REQUESTS):
        changes = {"receipt": receipt.as_json()} if each["id"] == request["id"] else {}
        await unit.update(gdpr_requests, each["id"], {}, stamped=ended | changes)


async def _erase_record(
    unit: Unit, collection: Collection, record: Record, person: Person, *, done: Receipt
) -> None:
    """A record that is anonymized already may be found again; it is left as it is."""
    if ERASURE_RULES.get(collection.name) is ErasureRule.DELETE:
        await unit.delete(collection, record["id"])
        done.erased[collection.name] += 1
        return
    if collection is trash_items:
        changes = anonymized_copy(unit.registry, record, person)
    else:
        changes = anonymized(collection, record, person)
    if changes:
        await unit.update(collection, record["id"], {}, stamped=changes)
        done.kept[collection.name] += 1


async def _add_to_receipt(unit: Unit, request: Record, done: Receipt) -> None:
    """Updates the stored receipt in the transaction of the change."""
    (current,) = await unit.find(gdpr_requests, {"id": request["id"]}, 1)
    receipt = Receipt.of(current["receipt"])
    receipt.add(done)
    await unit.update(gdpr_requests, request["id"], {}, stamped={"receipt": receipt.as_json()})


async def _write(
    unit: Unit, collection: Collection, record_id: str, changes: Mapping[str, Any]
) -> None:
    """Writes what is left of a record. If another one has the same unique value by now, such as the
    name of a tag, the record goes."""
    for field in collection.fields:
        if field.unique and field.name in changes:
            equals = {field.name: changes[field.name]}
            if await unit.find(collection, equals, limit=1):
                await unit.delete(collection, record_id)
                return
    await unit.update(collection, record_id, {}, stamped=changes)
