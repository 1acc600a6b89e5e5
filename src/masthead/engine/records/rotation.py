"""Rotation of the root secret: re-encrypts stored secrets with the newest one.

The worker runs it while more than one root secret is configured. Once the log says
`secrets.rotated` the older ones can be removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.logs import log
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.registry import Registry
from masthead.engine.records.write.record_rows import ENCRYPTION_PURPOSE, secret_context
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement

BATCH = 200


class Rotated(msgspec.Struct, frozen=True):
    renewed: int
    unreadable: int
    """Encrypted with a root secret that is not configured: these have to be set again."""


class Rotation(msgspec.Struct, frozen=True, dict=True):
    database: Database
    registry: Registry
    tables: Mapping[str, sa.Table]
    keyring: KeyRing

    @cached_property
    def _columns(self) -> list[_SecretColumn]:
        return [
            _SecretColumn(self.database, collection, self.tables[collection.name], field.name)
            for collection in self.registry.collections
            for field in collection.fields
            if isinstance(field, Secret)
        ]

    async def run(self) -> Rotated:
        """Can be repeated: skips values that are encrypted with the newest root secret."""
        total = Rotated(0, 0)
        for column in self._columns:
            total = await self._rotate(column, total)
        log.info("secrets.rotated", renewed=total.renewed, unreadable=total.unreadable)
        return total

    async def unreadable(self) -> int:
        """How many stored secrets none of the configured root secrets decrypts."""
        return (await self.count_readable())[1]

    async def count_readable(self) -> tuple[int, int]:
        """How many stored secrets can be read, and how many can't."""
        found = [0, 0]
        for column in self._columns:
            last: Row = ("", "")
            while rows := await column.after(last):
                last = rows[-1]
                for row in rows:
                    found[not self._is_readable(column, *row)] += 1
        return found[0], found[1]

    def _is_readable(
        self, column: _SecretColumn, tenant_id: str, record_id: str, stored: str
    ) -> bool:
        record = {"tenant_id": tenant_id, "id": record_id}
        context = secret_context(column.collection, record, column.name)
        try:
            self.keyring.decrypt(ENCRYPTION_PURPOSE, stored, context)
        except DecryptionError:
            return False
        return True

    async def _rotate(self, column: _SecretColumn, total: Rotated) -> Rotated:
        last: Row = ("", "")
        while rows := await column.after(last):
            last = rows[-1]
            for tenant_id, record_id, stored in rows:
                if not self.keyring.needs_rotation(stored):
                    continue
                record = {"tenant_id": tenant_id, "id": record_id}
                context = secret_context(column.collection, record, column.name)
                try:
                    renewed = self.keyring.renewed(ENCRYPTION_PURPOSE, stored, context)
                except DecryptionError:
                    log.warning("secrets.unreadable", record_id=record_id, field=column.name)
                    total = Rotated(total.renewed, total.unreadable + 1)
                    continue
                count = await column.replace(tenant_id, record_id, stored, renewed)
                total = Rotated(total.renewed + count, total.unreadable)
        return total


class _SecretColumn:
    """One secret field of all tenants."""

    def __init__(
        self, database: Database, collection: Collection, table: sa.Table, name: str
    ) -> None:
        self.collection = collection
        self.name = name
        self._database = database
        key = sa.tuple_(table.c.tenant_id, table.c.id)
        last = sa.tuple_(sa.bindparam("last_tenant"), sa.bindparam("last_id"))
        self._after: Statement = database.compile(
            sa.select(table.c.tenant_id, table.c.id, table.c[name])
            .where(key > last, table.c[name] != "")
            .order_by(table.c.tenant_id, table.c.id)
            .limit(BATCH)
        )
        self._replace: Statement = database.compile(
            sa.update(table)
            .where(
                table.c.tenant_id == sa.bindparam("key_tenant"),
                table.c.id == sa.bindparam("key_id"),
                # A secret that was set since the read stays.
                table.c[name] == sa.bindparam("old"),
            )
            .values({name: sa.bindparam("new")})
        )

    async def after(self, last: Row) -> list[Row]:
        values = {"last_tenant": last[0], "last_id": last[1]}
        return await self._database.fetch(EVERY_TENANT, *self._after(values))

    async def replace(self, tenant_id: str, record_id: str, old: str, new: str) -> int:
        values: dict[str, Any] = {
            "key_tenant": tenant_id,
            "key_id": record_id,
            "old": old,
            "new": new,
        }
        async with self._database.transaction(EVERY_TENANT) as tx:
            return await tx.execute(*self._replace(values))
