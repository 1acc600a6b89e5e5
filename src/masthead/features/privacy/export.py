"""Builds exports: a member's as JSON, a tenant's as a ZIP, both stored until their link expires."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import asdict

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import as_text
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.features.members.collection import blog_members
from masthead.features.privacy.archive import TenantArchive
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.personal import Person, member_collections, member_filters, person_of
from masthead.features.privacy.requests import Requests, site_name
from masthead.features.privacy.validation import MEMBER, DataRequest, Requester
from masthead.identity.sign_ins import SignIns
from masthead.identity.tenants import tenants
from masthead.storage.database import Database
from masthead.storage.objects import ObjectStore

INLINE_TIMEOUT_SECONDS = 28.0
"""An export that takes longer is left to the worker and mailed."""
MAX_INLINE_BYTES = 256 * 1024
MAX_CONCURRENT_BUILDS = 2
"""Archives that one server process builds while callers wait; the worker builds the others."""
FORMAT = "masthead-member-export"
VERSION = 1
MAX_RECORDS = 100_000

_HIDDEN = frozenset({"tenant_id"})


class Export(msgspec.Struct, frozen=True):
    """A request that is ready, with the token of its link; `inline` is the data if it is small."""

    request: Record
    token: str
    inline: bytes | None


class Exports:
    def __init__(
        self,
        records: Records,
        objects: ObjectStore,
        requests: Requests,
        long_reads: Callable[[], AbstractAsyncContextManager[Database]],
    ) -> None:
        self._records = records
        self._objects = objects
        self._requests = requests
        self._long_reads = long_reads
        self._sign_ins = SignIns(records)
        self._building = asyncio.Semaphore(MAX_CONCURRENT_BUILDS)
        self.inline_timeout_seconds = INLINE_TIMEOUT_SECONDS

    async def begin(self, requester: Requester, body: DataRequest) -> tuple[Record, Export | None]:
        """The request, and the export if it could be built right away."""
        run_at = self._records.clock() + timedelta(seconds=self.inline_timeout_seconds)
        request = await self._requests.open_export(requester, body, clock.to_text(run_at))
        if self._building.locked() and body.subject != MEMBER:
            return request, None
        try:
            async with self._building:
                deadline = time.monotonic() + self.inline_timeout_seconds
                inline = await self._store(request, deadline)
        except TimeoutError:
            return request, None
        ready = await self._publish(request, site_name(requester, body))
        if ready is None:
            return request, None
        request, token = ready
        return request, Export(request, token, inline)

    async def build(self, request: Record, blog_name: str) -> None:
        """For the worker: exports that took too long, or that a crash interrupted."""
        await self._store(request)
        await self._publish(request, blog_name)

    async def expire(self, request: Record) -> None:
        await self._objects.delete(archive_key(request))
        await self._requests.close(request, "expired")

    async def _publish(self, request: Record, blog_name: str) -> tuple[Record, str] | None:
        """None if another process has published it, or if the subject has been erased meanwhile:
        then the archive is deleted too."""
        try:
            ready = await self._requests.make_ready(request, blog_name)
        except NotFound:
            ready = None
        if ready is not None:
            await self._drop_older(ready[0])
            return ready
        current = await self._requests.find(request["id"])
        if current is None or current["status"] != "ready":
            await self._objects.delete(archive_key(request))
        return None

    async def _drop_older(self, request: Record) -> None:
        """Deletes all but the newest of the exports that were requested without a session, so that
        they can't fill the disk."""
        subject = {name: request[name] for name in ("tenant_id", "type", "subject", "member_id")}
        older = await self._records.find(
            gdpr_requests,
            {**subject, "status": "ready", "asked_by": "header"},
            tenant_id=TenantId(request["tenant_id"]),
            limit=100,
        )
        for each in older:
            if each["id"] != request["id"]:
                await self.expire(each)

    async def _store(self, request: Record, deadline: float = math.inf) -> bytes | None:
        """Puts the export into the object store; returns it if it is small enough to show."""
        tenant_id = TenantId(request["tenant_id"])
        key = archive_key(request)
        if request["subject"] == MEMBER:
            member = await self._requests.member(tenant_id, request["member_id"])
            document = await self.member_document(tenant_id, member)
            await self._objects.put(key, document, content_type="application/json")
            return document if len(document) <= MAX_INLINE_BYTES else None
        (tenant,) = await self._records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id)
        async with self._long_reads() as database:
            records = self._records.reading_from(database)
            archive = TenantArchive(records, self._objects, tenant_id, tenant["slug"])
            chunks = _stop_at(deadline, archive.chunks())
            await self._objects.put(key, chunks, content_type="application/zip")
        return None

    async def member_document(self, tenant_id: TenantId, member: Record) -> bytes:
        """Everything about a member, by collection. Also what only the staff can read, as their
        note and labels: it is the person's data too."""
        person = person_of(member)
        data = {}
        for collection in member_collections(self._records.registry):
            if collection is not blog_members:
                data[collection.name] = await self._records_about(tenant_id, collection, person)
        data["sign_ins"] = [asdict(each) for each in await self._sign_ins.of(blog_members, member)]
        document = {
            "format": FORMAT,
            "version": VERSION,
            "created": clock.to_text(self._records.clock()),
            "member": _shown(blog_members, member),
            "data": data,
        }
        return msgspec.json.encode(document, enc_hook=as_text)

    async def _records_about(
        self, tenant_id: TenantId, collection: Collection, person: Person
    ) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for member_filter in member_filters(collection, person):
            records = await self._records.find(
                collection, member_filter, tenant_id=tenant_id, limit=MAX_RECORDS
            )
            found.update((each["id"], _shown(collection, each)) for each in records)
        return list(found.values())


async def _stop_at(deadline: float, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Stops the upload by an error from its source: a cancellation could leave it half open."""
    async for chunk in chunks:
        if time.monotonic() >= deadline:
            raise TimeoutError
        yield chunk


def archive_key(request: Record) -> str:
    ending = "json" if request["subject"] == MEMBER else "zip"
    return f"{request['tenant_id']}/exports/{request['id']}.{ending}"


def _shown(collection: Collection, record: Record) -> dict[str, Any]:
    """Without hashes, secrets and the tenant's id."""
    names = collection.readable(Access.PLATFORM)
    return {name: record[name] for name in names if name not in _HIDDEN}
