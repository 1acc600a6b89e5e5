"""The hard delete of one member: what is about them goes or becomes nobody's, in steps that can be
cut off anywhere, and whatever else holds the address loses it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

from masthead import clock
from masthead.caller import system
from masthead.ids import TenantId
from masthead.mail.outbox import Outbox
from masthead.members.collection import blog_members
from masthead.privacy import emails
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import Exports
from masthead.privacy.mentions import Mentions
from masthead.privacy.pace import Slice
from masthead.privacy.personal import (
    FATES,
    Fate,
    Person,
    concerned,
    person_of,
    traits,
    without_address,
    without_person,
)
from masthead.privacy.receipts import Receipt
from masthead.privacy.requests import Requests
from masthead.privacy.rows import EVENTS_PER_LOOK, PersonTraces
from masthead.privacy.spellings import spellings_of
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.records.write.unit import Unit

STEP = 100
MOST_REQUESTS = 1_000


class MemberErasure:
    def __init__(
        self,
        records: Records,
        mail: Outbox,
        requests: Requests,
        exports: Exports,
        traces: PersonTraces,
        mentions: Mentions,
    ) -> None:
        self._records = records
        self._mail = mail
        self._requests = requests
        self._exports = exports
        self._traces = traces
        self._mentions = mentions

    async def erase(self, request: Record, email: str, slice_: Slice) -> None:
        tenant_id = TenantId(request["tenant_id"])
        found = await self._records.find(
            blog_members, {"id": request["member_id"]}, tenant_id=tenant_id
        )
        person = person_of(found[0]) if found else await self._gone(request, email)
        await self._forget_events(tenant_id, request, person)
        await self._expire_exports(tenant_id, person)
        for collection in concerned(self._records.registry):
            if collection is not blog_members:
                while await self._treat(tenant_id, request, collection, person):
                    slice_.check()
        await self._take_out(tenant_id, request, person)
        await self._finish(request, person)

    async def _gone(self, request: Record, email: str) -> Person:
        """Somebody deleted the member during the grace period. What else is about them goes by
        their address, unless it is another member's by now."""
        holders = await self._records.find(
            blog_members, {"email": email}, tenant_id=TenantId(request["tenant_id"])
        )
        return Person(request["member_id"], "" if holders else email, "")

    async def _forget_events(self, tenant_id: TenantId, request: Record, person: Person) -> None:
        """First, while the person's records can still be told from others'."""
        about = await self._record_ids(tenant_id, person)
        after, spelled = (0, -1), spellings_of(person.email)
        while True:
            async with self._records.unit(system(tenant_id), emit_events=False) as unit:
                rows = await self._traces.look(unit, after)
                hits = [
                    event_id
                    for _, _, event_id, record_id, payload in rows
                    if record_id in about or person.id in payload or spelled.is_in(payload)
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

    async def _take_out(self, tenant_id: TenantId, request: Record, person: Person) -> None:
        """The address, from texts of others."""
        async for collection, record_id in self._mentions.of(tenant_id, person.email):
            async with self._records.unit(system(tenant_id), emit_events=False) as unit:
                for record in await unit.find(collection, {"id": record_id}, 1):
                    changes = without_address(collection, record, person.email)
                    if changes:
                        await unit.update(collection, record_id, {}, stamped=changes)
                        done = Receipt(kept=Counter({collection.name: 1}))
                        await _note(unit, request, done)

    async def _finish(self, request: Record, person: Person) -> None:
        """The member, whatever else holds the address, the receipt: one transaction."""
        tenant_id = TenantId(request["tenant_id"])
        site = await self._requests.site(tenant_id)
        people = await self._requests.addressees(request)
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            (current,) = await unit.find(gdpr_requests, {"id": request["id"]}, 1)
            if current["status"] != "queued":
                # Another worker was quicker.
                return
            receipt = Receipt.of(current["receipt"])
            receipt.erased["traces"] += await self._traces.forget_address(
                unit, person.email, request["id"]
            )
            for member in await unit.find(blog_members, {"id": person.id}, 1):
                await unit.delete(blog_members, member["id"])
                receipt.erased["blog_members"] = 1
            await _complete(unit, request, receipt, self._records.clock())
            for each in people:
                mail = emails.deletion_done(
                    site,
                    each,
                    whole_site=False,
                    request_id=request["id"],
                    erased=receipt.erased_lines(),
                    kept=receipt.kept_lines(),
                )
                await self._mail.queue(unit, mail)


async def _complete(unit: Unit, request: Record, receipt: Receipt, now: datetime) -> None:
    """With it every other deletion of the same member: their jobs went with the address."""
    ended = {
        "status": "completed",
        "completed_at": clock.to_text(now),
        "token_hash": "",
        "confirm_hash": "",
        "notify_email": "",
    }
    same = {"member_id": request["member_id"], "type": "delete", "status": "queued"}
    for each in await unit.find(gdpr_requests, same, MOST_REQUESTS):
        told = {"receipt": receipt.as_json()} if each["id"] == request["id"] else {}
        await unit.update(gdpr_requests, each["id"], {}, stamped=ended | told)


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
