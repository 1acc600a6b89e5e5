"""Imports the archive of one site as a new site, with new ids.

The rows are written in small transactions, so that the service can go on writing. Until all of it
is there, the site is suspended under a name of its own; the last transaction gives it its slug and
opens it. If anything fails, all of it is removed. What a crash leaves is removed by the next import
or by the worker (`Leftovers`). They also remove what an import has written that only seems to have
crashed, because its process was stopped or the clock has jumped. So each transaction checks that
the site still has the name that this attempt has given it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from masthead.base.caller import system
from masthead.base.errors import Invalid, MastheadError, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.changes import Rendering
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.decoding import engine_decoder
from masthead.engine.records.write.unit import Unit
from masthead.faces.site_archive.addresses import Addresses
from masthead.faces.site_archive.adjusting import Circumstances, adjust, later_of
from masthead.faces.site_archive.checking import (
    check_field,
    check_record,
    check_row,
    without_platform_domains,
)
from masthead.faces.site_archive.header import Contents, DamagedSite, read_site
from masthead.faces.site_archive.leftovers import IMPORTING, Leftovers, hidden_slug
from masthead.faces.site_archive.moving import Moving
from masthead.faces.site_archive.new_ids import NewIds
from masthead.faces.site_archive.sealed_secrets import SecretKey, unseal
from masthead.faces.site_archive.staging import Staged, staged_site
from masthead.faces.site_archive.stored_files import has_files, keys_of
from masthead.faces.site_archive.tables import TENANT, MovedTable, moved_tables
from masthead.features.media.services import SharedServices
from masthead.features.site.address import site_url
from masthead.features.site.collection import site_settings
from masthead.identity.hosts import check_slug
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import TenantStatus, tenants
from masthead.storage.archives import OBJECTS, UnreachableStorage, entries
from masthead.storage.database import ForeignKeyViolation, Statement, UniqueViolation
from masthead.storage.file_chunks import chunks_of

Count = Callable[[str, int], None]
"""Called with `checked` and bytes, or with `records` or `media` and the number of new ones."""
HEARTBEAT: Final = 50
"""Batches between two signs of life."""


class SlugTaken(MastheadError):
    """The message names the slug."""


class Overtaken(MastheadError):
    message = "The import was interrupted for so long that it was taken for dead. Import again."


class Imported(msgspec.Struct):
    tenant_id: TenantId
    slug: str
    bytes: int
    records: int = 0
    media: int = 0
    missing: int = 0
    """Files that records name and the archive does not have."""
    secrets_left_out: bool = False
    """The archive has secrets, and no passphrase was given."""
    passphrase_unused: bool = False
    """A passphrase was given, and the archive has no secrets."""
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    """Records that the archive has and the new site does not, by collection."""


def _count_nothing(_kind: str, _count: int) -> None:
    pass


async def import_site(
    services: SharedServices,
    path: Path,
    *,
    slug: str = "",
    plan: Plan = Plan.FREE,
    passphrase: str = "",
    new_ids: NewIds | None = None,
    count: Count = _count_nothing,
) -> Imported:
    """Raises `MastheadError` with the reason, and leaves nothing then."""
    contents = await asyncio.to_thread(read_site, path, lambda size: count("checked", size))
    slug = slug or contents.header.slug
    await require_free(services.records, slug)
    secrets = await unsealed(contents, passphrase)
    await Leftovers(services.records, services.objects).sweep()
    async with staged_site(path, contents, services.records.registry) as staged:
        new_ids = new_ids or NewIds()
        given = Circumstances(services.records.clock(), "UTC", slug, plan)
        running = _Import(services, staged, given, secrets, new_ids=new_ids, count=count)
        imported = await running.run(path)
    imported.secrets_left_out = bool(contents.sealed) and not passphrase
    imported.passphrase_unused = bool(passphrase) and not contents.sealed
    return imported


async def require_free(records: Records, slug: str) -> None:
    if problem := check_slug(slug):
        raise Invalid({"slug": problem})
    if await records.find(tenants, {"slug": slug}):
        raise _taken(slug)


def _taken(slug: str) -> SlugTaken:
    return SlugTaken(f"There is a site {slug} already. Choose another slug with --slug.")


async def unsealed(contents: Contents, passphrase: str) -> dict[SecretKey, str]:
    if not contents.sealed or not passphrase:
        return {}
    tenant_id = contents.header.tenant_id
    return await asyncio.to_thread(unseal, contents.sealed, passphrase, tenant_id)


class _Import:
    def __init__(
        self,
        services: SharedServices,
        staged: Staged,
        given: Circumstances,
        secrets: dict[SecretKey, str],
        *,
        new_ids: NewIds,
        count: Count,
    ) -> None:
        self._records = services.records
        self._objects = services.objects
        self._staged = staged
        self._secrets = secrets
        self._count = count
        # The site first: without its row nobody finds what a crash leaves.
        self._tables = sorted(
            moved_tables(self._records.registry), key=lambda each: each.name != tenants.name
        )
        header = staged.contents.header
        origin = site_url(services.settings, given.slug)
        addresses = Addresses(header.hosts, origin, new_ids.of, staged.is_media)
        self._moving = Moving(new_ids, addresses, header.tenant_id, staged.is_known)
        self._tenant_id = TenantId(self._moving.tenant_id)
        self._caller = system(self._tenant_id)
        self._leftovers = Leftovers(self._records, self._objects)
        self._given = given
        self._imported = Imported(self._tenant_id, given.slug, staged.contents.bytes)
        self._hidden_slug = hidden_slug()
        self._tenant: Record = {}
        self._is_begun = False
        """The site has its row."""
        self._batches = 0

    async def run(self, path: Path) -> Imported:
        await self._read_site()
        try:
            for moved in self._tables:
                await self._copy_table(moved)
            await self._copy_files(path)
            await self._open_site()
        except BaseException as error:
            await self._remove()
            if isinstance(error, UniqueViolation | ForeignKeyViolation):
                raise DamagedSite(
                    "The archive contradicts itself: a row is there twice, or names one that is "
                    "missing. Nothing was imported."
                ) from error
            if isinstance(error, ValueError | RecursionError):
                raise DamagedSite from error
            raise
        log.info("site.imported", tenant_id=self._tenant_id, slug=self._imported.slug)
        return self._imported

    async def _remove(self) -> None:
        """Not what another attempt has written since under the same ids."""
        try:
            key = {"id": self._tenant_id}
            found = await self._records.find_one(tenants, key, tenant_id=self._tenant_id)
            if found is None or found["slug"] == self._hidden_slug:
                await self._leftovers.remove(self._tenant_id)
        except Exception:
            # The next import or the worker removes it.
            log.exception("site.import_not_removed", tenant_id=self._tenant_id)

    async def _read_site(self) -> None:
        """Reads the parts that have to be there: the site itself, once, and its settings."""
        found = [each async for page in self._all(tenants) for each in page]
        settings = [each async for page in self._all(site_settings) for each in page]
        is_whole = len(found) == 1 and len(settings) == 1 and found[0]["id"] == found[0][TENANT]
        if not is_whole:
            raise DamagedSite
        zone = settings[0]["time_zone"]
        check_field(site_settings, site_settings.by_name["time_zone"], zone)
        self._given = replace(self._given, time_zone=zone or "UTC")

    async def _copy_table(self, moved: MovedTable) -> None:
        if moved.collection is None:
            await self._copy_rows(moved.table)
            return
        collection = moved.collection
        if collection.name == tenants.name:
            # Its owner is linked when it is opened.
            relations = tuple(each.name for each in collection.relations)
            async for page in self._all(collection):
                await self._copy_page(collection, page, relations)
            self._is_begun = True
            return
        own = tuple(each.name for each in collection.relations if each.to == collection.name)
        async for page in self._all(collection):
            await self._copy_page(collection, page, own)
        if not own:
            return
        # A record may come before the one that it names.
        async for page in self._all(collection):
            records = [self._moving.record(collection, each) for each in page]
            linked = [each for each in records if any(each[name] for name in own)]
            async with self._unit() as unit:
                await unit.link_copies(collection, linked, own)

    async def _copy_page(
        self, collection: Collection, page: list[Record], unlinked: tuple[str, ...]
    ) -> None:
        # In a thread: the texts of a page may be long.
        moved = await asyncio.to_thread(self._moved_page, collection, page)
        if collection.rendering is not None:
            await _render_again(collection.rendering, moved)
        records = [each for old in moved if (each := self._adjusted(collection, old))]
        async with self._unit() as unit:
            await unit.store_copies(collection, records, unlinked=unlinked)
            for record in records:
                for job in later_of(collection, record):
                    await unit.enqueue(job.kind, job.payload, job.run_at)
        if left_out := len(page) - len(records):
            previous = self._imported.left_out.get(collection.name, 0)
            self._imported.left_out[collection.name] = previous + left_out
        self._imported.records += len(records)
        self._count("records", len(records))
        await self._show_life()

    def _moved_page(self, collection: Collection, page: list[Record]) -> list[Record]:
        return [self._moved(collection, each) for each in page]

    def _moved(self, collection: Collection, old: Record) -> Record:
        secrets = {
            name: self._secrets.get((collection.name, old["id"], name), "")
            for name in collection.secrets
        }
        moved = self._moving.record(collection, {**old, **secrets})
        if collection.name == site_settings.name:
            moved |= without_platform_domains(collection, moved)
        check_record(collection, moved)
        return moved

    def _adjusted(self, collection: Collection, moved: Record) -> Record | None:
        adjusted = adjust(collection, moved, self._given)
        if collection.name == tenants.name and adjusted is not None:
            self._tenant = adjusted
            return {**adjusted, **self._hidden()}
        return adjusted

    def _hidden(self) -> Record:
        return {
            "slug": self._hidden_slug,
            "status": TenantStatus.SUSPENDED.value,
            "suspension_reason": IMPORTING,
            "suspended_at": self._given.text,
            "updated": self._given.text,
        }

    async def _copy_rows(self, table: sa.Table) -> None:
        names = [str(each.name) for each in table.columns]
        statement: Statement = self._records.database.compile(sa.insert(table))
        async for rows in self._staged.snapshot.rows(*table.columns):
            found = [dict(zip(names, row, strict=True)) for row in rows]
            for each in found:
                check_row(table, each)
            moved = [self._moving.row(str(table.name), each) for each in found]
            async with self._unit() as unit:
                await unit.execute_many(statement, moved)
            await self._show_life()

    async def _copy_files(self, path: Path) -> None:
        expected = 0
        for moved in self._tables:
            if moved.collection is not None and has_files(moved.collection):
                async for page in self._all(moved.collection):
                    expected += sum(len(keys_of(moved.collection, each)) for each in page)
        for name, file in entries(path):
            if name.startswith(OBJECTS):
                await self._copy_file(name.removeprefix(OBJECTS), file)
                await self._show_life()
        self._imported.missing = expected - self._imported.media

    async def _copy_file(self, name: str, file: IO[bytes]) -> None:
        old_key = f"{self._staged.contents.header.tenant_id}/{name}"
        if not self._staged.names_file(name):
            raise DamagedSite("The archive has a file that no record names. Nothing was imported.")
        try:
            await self._objects.put(self._moving.object_key(old_key), chunks_of(file))
        except Unavailable as error:
            raise UnreachableStorage from error
        self._imported.media += 1
        self._count("media", 1)

    async def _open_site(self) -> None:
        """The site appears with this transaction."""
        relations = (each.name for each in tenants.relations)
        names = ("slug", "status", "suspension_reason", "suspended_at", "updated", *relations)
        opened = {**self._tenant, "slug": self._given.slug}
        try:
            async with self._unit() as unit:
                await unit.link_copies(self._records.registry[tenants.name], [opened], names)
                await unit.mark_identity()
        except Invalid as error:
            raise _taken(self._given.slug) from error

    async def _show_life(self) -> None:
        self._batches += 1
        if self._batches % HEARTBEAT == 0:
            async with self._unit() as unit:
                await self._leftovers.show_life(unit)

    @asynccontextmanager
    async def _unit(self) -> AsyncIterator[Unit]:
        """Raises `Overtaken` if the site was removed, or belongs to another attempt."""
        async with self._records.unit(self._caller, emit_events=False) as unit:
            if self._is_begun:
                found = await unit.find_one(tenants, {"id": self._tenant_id})
                if found is None or found["slug"] != self._hidden_slug:
                    raise Overtaken
            yield unit

    async def _all(self, collection: Collection) -> AsyncIterator[list[Record]]:
        decoder = engine_decoder(collection)
        table = next(each.table for each in self._tables if each.name == collection.name)
        columns = [table.c[name] for name in decoder.names]
        async for rows in self._staged.snapshot.rows(*columns):
            yield [decoder.record(row) for row in rows]


async def _render_again(rendering: Rendering, records: list[Record]) -> None:
    """An archive may say of any text that it is clean."""
    rendered = await rendering.make_anyway([each[rendering.of] for each in records])
    for each, text in zip(records, rendered, strict=True):
        each |= rendering.stored(each[rendering.of], text)
