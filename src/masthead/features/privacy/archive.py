"""A tenant's export as a ZIP stream: memory use does not depend on its size.

One JSON file per collection, every stored file, and `manifest.json` with counts and checksums last.
"""

from __future__ import annotations

import asyncio
import hashlib
import zipfile
from collections.abc import AsyncIterator
from datetime import datetime
from typing import IO, Any, cast

import msgspec

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import as_text
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.file import File
from masthead.engine.records.read.page import ListRequest
from masthead.features.trash.collection import trash_items
from masthead.storage.objects import ObjectStore

FORMAT = "masthead-tenant-export"
VERSION = 1
PAGE = 50
"""Records in memory at a time; a post may hold megabytes."""
JSON_CHUNK = 256 * 1024

_encode = msgspec.json.Encoder(enc_hook=as_text).encode


class Manifest(msgspec.Struct):
    site: str
    created: str
    collections: list[dict[str, Any]] = msgspec.field(default_factory=list)
    files: list[dict[str, Any]] = msgspec.field(default_factory=list)
    missing: list[str] = msgspec.field(default_factory=list)

    def encoded(self) -> bytes:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "site": self.site,
            "created": self.created,
            "collections": self.collections,
            "files": self.files,
            "missing_files": self.missing,
        }
        return msgspec.json.format(_encode(document))


class TenantArchive:
    def __init__(
        self, records: Records, objects: ObjectStore, tenant_id: TenantId, slug: str
    ) -> None:
        self._records = records
        self._objects = objects
        self._tenant_id = tenant_id
        now = records.clock()
        self._manifest = Manifest(slug, clock.to_text(now))
        self._zip = _ZipStream(now)

    async def chunks(self) -> AsyncIterator[bytes]:
        for collection in self._records.registry.collections:
            async for chunk in self._collection(collection):
                yield chunk
        for collection in self._records.registry.collections:
            for each in collection.fields:
                if isinstance(each, File):
                    async for chunk in self._files(collection, each.name):
                        yield chunk
        async for chunk in self._trashed_files():
            yield chunk
        async for chunk in self._zip.entry("manifest.json", _once(self._manifest.encoded())):
            yield chunk
        yield self._zip.end()

    async def _collection(self, collection: Collection) -> AsyncIterator[bytes]:
        path = f"data/{collection.name}.json"
        counted = _JsonList(self._records, self._tenant_id, collection)
        entry = self._zip.entry(path, counted.chunks())
        async for chunk in entry:
            yield chunk
        written = self._zip.written
        self._manifest.collections.append(
            {"name": collection.name, "path": path, "records": counted.records, **written}
        )

    async def _files(self, collection: Collection, name: str) -> AsyncIterator[bytes]:
        async for record in records_of(self._records, self._tenant_id, collection):
            async for chunk in self._file(collection, record["id"], record[name]):
                yield chunk

    async def _trashed_files(self) -> AsyncIterator[bytes]:
        """Those of deleted records that can still be restored."""
        async for item in records_of(self._records, self._tenant_id, trash_items):
            collection = self._records.registry[item["type"]]
            if collection.files:
                document = msgspec.json.decode(item["document"], type=dict[str, Any])
                for name in collection.files:
                    async for chunk in self._file(collection, item["record_id"], document[name]):
                        yield chunk

    async def _file(
        self, collection: Collection, record_id: str, name: str
    ) -> AsyncIterator[bytes]:
        path = f"files/{collection.name}/{record_id}/{name}"
        try:
            stored = await self._objects.get(file_key(self._tenant_id, collection, record_id, name))
        except NotFound:
            self._manifest.missing.append(path)
            return
        # Images, audio and video are compressed already.
        async for chunk in self._zip.entry(path, stored.chunks, compress=False):
            yield chunk
        self._manifest.files.append({"path": path, **self._zip.written})


async def records_of(
    records: Records, tenant_id: TenantId, collection: Collection
) -> AsyncIterator[Record]:
    """Every record of a tenant, without hashes and secrets."""
    after: tuple[str, str] | None = None
    while True:
        wanted = ListRequest(per_page=PAGE, after=after, skip_total=True)
        page = await records.page(system(tenant_id), collection, wanted)
        for record in page.items:
            yield record
        if len(page.items) < PAGE:
            return
        after = (page.items[-1]["created"], page.items[-1]["id"])


class _JsonList:
    """A collection as a JSON list, one record a line."""

    def __init__(self, records: Records, tenant_id: TenantId, collection: Collection) -> None:
        self._found = records_of(records, tenant_id, collection)
        self.records = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        buffer = bytearray(b"[")
        async for record in self._found:
            buffer += b",\n" if self.records else b"\n"
            buffer += _encode(record)
            self.records += 1
            if len(buffer) >= JSON_CHUNK:
                yield bytes(buffer)
                buffer.clear()
        buffer += b"\n]\n"
        yield bytes(buffer)


class _Pipe:
    """The output of zipfile. It has no `seek`, so zipfile writes a stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """zipfile calls it; there is nothing to flush."""

    def take(self) -> bytes:
        taken = bytes(self._buffer)
        self._buffer.clear()
        return taken


class _ZipStream:
    def __init__(self, now: datetime) -> None:
        self._pipe = _Pipe()
        self._zip = zipfile.ZipFile(cast(IO[bytes], self._pipe), "w")
        self._moment = (now.year, now.month, now.day, now.hour, now.minute, now.second)
        self.written: dict[str, Any] = {}
        """Size and checksum of the entry written last."""

    async def entry(
        self, path: str, content: AsyncIterator[bytes], *, compress: bool = True
    ) -> AsyncIterator[bytes]:
        info = zipfile.ZipInfo(path, self._moment)
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as entry:

            def add(chunk: bytes) -> bytes:
                digest.update(chunk)
                entry.write(chunk)
                return self._pipe.take()

            async for chunk in content:
                size += len(chunk)
                # Compressing and hashing would block the event loop.
                if made := await asyncio.to_thread(add, chunk):
                    yield made
        yield self._pipe.take()
        self.written = {"bytes": size, "sha256": digest.hexdigest()}

    def end(self) -> bytes:
        self._zip.close()
        return self._pipe.take()


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
