"""Writes one site into an archive: a snapshot of its rows, and the files that they name.

The service may run meanwhile. Secrets are in it only with a passphrase.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec

from masthead.base import clock
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.version import running_version
from masthead.base.whole_file import whole_file
from masthead.engine.records.accounts import SESSION_KEY
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.read.decoding import engine_decoder
from masthead.faces.site_archive.header import FORMAT, HEADER, SEALED, Header
from masthead.faces.site_archive.sealed_secrets import SecretKey, check_passphrase, seal
from masthead.faces.site_archive.stored_files import has_files, keys_of, name_of
from masthead.faces.site_archive.tables import MovedTable, moved_tables, rows_of
from masthead.features.media.services import SharedServices
from masthead.features.members.unsubscribe import keys_to_move
from masthead.features.site.address import site_url
from masthead.features.site.collection import site_settings
from masthead.storage.archives import ArchiveCounts, ArchiveWriter, RowChunks, layout_of
from masthead.storage.database import Row
from masthead.storage.migrate import HEAD
from masthead.storage.snapshot import Snapshot, open_snapshot

Count = Callable[[str, int], Awaitable[None]]
"""Called with `records` or `media` and the number of new ones. May raise to end the export."""


class Sealing(msgspec.Struct, frozen=True):
    passphrase: str
    keyring: KeyRing


async def _count_nothing(_kind: str, _count: int) -> None:
    pass


async def export_site(
    services: SharedServices,
    tenant: Record,
    path: Path,
    *,
    passphrase: str = "",
    replaces: bool = False,
    count: Count = _count_nothing,
) -> ArchiveCounts:
    """The file appears when it is complete. Only its owner can read it."""
    with whole_file(path, replaces=replaces) as file:
        sealing = Sealing(passphrase, services.keyring) if passphrase else None
        return await write_site(services, tenant, file, sealing=sealing, count=count)


async def write_site(
    services: SharedServices,
    tenant: Record,
    file: BinaryIO,
    *,
    sealing: Sealing | None = None,
    count: Count = _count_nothing,
) -> ArchiveCounts:
    if sealing:
        check_passphrase(sealing.passphrase)
    archive = ArchiveWriter(file, clock.now().timestamp())
    try:
        async with open_snapshot(services.settings.database_url) as snapshot:
            export = _Export(services, tenant, archive, snapshot, count=count)
            return await export.write(sealing)
    finally:
        archive.close()


class _Export:
    def __init__(
        self,
        services: SharedServices,
        tenant: Record,
        archive: ArchiveWriter,
        snapshot: Snapshot,
        *,
        count: Count,
    ) -> None:
        self._services = services
        self._tenant = tenant
        self._archive = archive
        self._snapshot = snapshot
        self._count = count
        self._tables = moved_tables(services.records.registry)
        self._written = ArchiveCounts()

    async def write(self, sealing: Sealing | None) -> ArchiveCounts:
        header = await self._header()
        self._archive.add(HEADER, msgspec.json.encode(header))
        if sealing:
            await self._add_secrets(sealing)
        for moved in self._tables:
            await self._add_rows(moved)
        for moved in self._tables:
            if moved.collection is not None and has_files(moved.collection):
                await self._add_files(moved, moved.collection)
        self._written.bytes = await asyncio.to_thread(self._archive.finish)
        return self._written

    async def _header(self) -> Header:
        settings, slug = self._services.settings, self._tenant["slug"]
        [own] = [each for each in self._tables if each.name == site_settings.name]
        found = [each async for page in self._records_of(own, site_settings) for each in page]
        domain = found[0]["custom_domain"] if found else ""
        addresses = [
            site_url(settings, slug),
            *([site_url(settings, slug, domain)] if domain else []),
        ]
        return Header(
            format=FORMAT,
            version=running_version().version,
            created=clock.to_text(clock.now()),
            revision=HEAD,
            tenant_id=self._tenant["id"],
            slug=slug,
            hosts=[urlsplit(each).netloc.lower() for each in addresses],
            tables={each.name: layout_of(each.table) for each in self._tables},
        )

    async def _add_rows(self, moved: MovedTable) -> None:
        names = [column.name for column in moved.table.columns]
        secrets = moved.collection.secrets if moved.collection is not None else ()
        hidden = [names.index(each) for each in (*secrets, SESSION_KEY) if each in names]
        chunks = RowChunks(self._archive, moved.name)
        async for rows in self._rows(moved):
            await asyncio.to_thread(_add_all, chunks, rows, hidden)
            if moved.collection is not None:
                self._written.records += len(rows)
                await self._count("records", len(rows))
        await asyncio.to_thread(chunks.flush)

    async def _add_files(self, moved: MovedTable, collection: Collection) -> None:
        async for records in self._records_of(moved, collection):
            for record in records:
                for key in keys_of(collection, record):
                    name, objects = name_of(key), self._services.objects
                    if await self._archive.add_object(objects, key, name, self._written):
                        await self._count("media", 1)

    async def _add_secrets(self, sealing: Sealing) -> None:
        values: dict[SecretKey, str] = {}
        for moved in self._tables:
            collection = moved.collection
            if collection is None or not collection.secrets:
                continue
            async for records in self._records_of(moved, collection):
                for record in records:
                    self._reveal(collection, record, values)
                    if collection.name == site_settings.name:
                        self._add_link_keys(sealing.keyring, record, values)
        sealed = await asyncio.to_thread(seal, values, sealing.passphrase, self._tenant["id"])
        self._archive.add(SEALED, sealed)

    def _reveal(self, collection: Collection, record: Record, values: dict[SecretKey, str]) -> None:
        for name in collection.secrets:
            try:
                plain = self._services.records.reveal(collection, record, name)
            except DecryptionError:
                self._written.unreadable += 1
                continue
            if plain:
                values[collection.name, record["id"], name] = plain

    def _add_link_keys(
        self, keyring: KeyRing, settings: Record, values: dict[SecretKey, str]
    ) -> None:
        """They are stored nowhere here, but readers have emails with links."""
        try:
            keys = keys_to_move(self._services.records, keyring, settings)
        except DecryptionError:
            # Counted already.
            return
        values[site_settings.name, settings["id"], "former_link_keys"] = keys

    async def _records_of(
        self, moved: MovedTable, collection: Collection
    ) -> AsyncIterator[list[Record]]:
        decoder = engine_decoder(collection)
        columns = [moved.table.c[name] for name in decoder.names]
        mine = rows_of(moved.table, self._tenant["id"])
        async for rows in self._snapshot.rows(*columns, where=mine):
            yield [decoder.record(row) for row in rows]

    def _rows(self, moved: MovedTable) -> AsyncIterator[list[Row]]:
        mine = rows_of(moved.table, self._tenant["id"])
        return self._snapshot.rows(*moved.table.columns, where=mine)


def _add_all(chunks: RowChunks, rows: list[Row], hidden: list[int]) -> None:
    for row in rows:
        values = list(row)
        for position in hidden:
            values[position] = ""
        chunks.add(values)
