"""The rows of a unit's records: encodes a record's values, runs the statements that insert, update
and delete it, and translates violated constraints.

Access, validation and all that follows from a change are the unit's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from masthead.errors import BadRequest, Invalid, NotFound, Problem
from masthead.ids import TenantId
from masthead.records.collection import Collection, Record
from masthead.records.fields.text import Slug
from masthead.records.write.context import WriteContext
from masthead.records.write.slugs import free_slug, numbered_slug, slugify
from masthead.storage.database import (
    ForeignKeyViolation,
    Statement,
    Transaction,
    UniqueViolation,
)

NOT_UNIQUE = Problem("validation_not_unique", "This value is taken. Choose another one.")
INSERT_BATCH = 100
ENCRYPTION_PURPOSE = "record-secret"


class RecordRows:
    def __init__(
        self, transaction: Transaction, tenant_id: TenantId, context: WriteContext
    ) -> None:
        self._tx = transaction
        self._tenant_id = tenant_id
        self._context = context
        self._pending: dict[str, tuple[Statement, list[tuple[object, ...]]]] | None = None

    @asynccontextmanager
    async def batched_inserts(self) -> AsyncIterator[None]:
        """For `Unit.batched_inserts`."""
        pending = self._pending = {}
        try:
            yield
        finally:
            self._pending = None
        for statement, rows in pending.values():
            for start in range(0, len(rows), INSERT_BATCH):
                await self._tx.execute_many(statement, rows[start : start + INSERT_BATCH])

    async def insert(self, collection: Collection, record: Record) -> None:
        statement = self._context.statements.insert(collection)
        row = statement.bind(self.encoded(collection, record, tuple(record)))
        if self._pending is not None:
            self._pending.setdefault(collection.name, (statement, []))[1].append(row)
            return
        await self._write(statement, row)

    async def insert_with_slug(self, collection: Collection, record: Record, field: Slug) -> None:
        """A slug from a title is taken by the insert itself. Where another record has it, nothing
        is inserted and the slug gets a number."""
        statement = self._context.statements.insert_unless_taken(collection, field.name)
        base = record[field.name]
        is_taken = partial(self._is_taken, collection, field.name)
        if base in field.reserved:
            record[field.name] = await numbered_slug(base, is_taken, field.max)
        while not await self._write(
            statement, statement.bind(self.encoded(collection, record, tuple(record)))
        ):
            record[field.name] = await numbered_slug(base, is_taken, field.max)

    async def optional_slug(self, collection: Collection, field: Slug, record: Record) -> str:
        """The unit holds the tenant's write lock, so a free slug stays free."""
        source = record[field.source]
        if not source:
            return ""
        is_taken = partial(self._is_taken, collection, field.name)
        return await free_slug(slugify(source, field.max), is_taken, field.max)

    async def _is_taken(self, collection: Collection, name: str, value: str) -> bool:
        statement = self._context.statements.is_taken(collection, name)
        bound = statement.bind({"tenant": self._tenant_id, "value": value})
        return bool(await self._tx.fetch(statement, bound))

    async def update(self, collection: Collection, record: Record, names: tuple[str, ...]) -> None:
        names = tuple(sorted(set(names)))
        statement = self._context.statements.update(collection, names)
        encoded = self.encoded(collection, record, names)
        values = {f"new_{name}": value for name, value in encoded.items()}
        values.update(key_tenant=self._tenant_id, key_id=record["id"])
        await self._write(statement, statement.bind(values))

    async def delete(self, collection: Collection, record: Record) -> None:
        statement = self._context.statements.delete(collection)
        bound = statement.bind({"key_tenant": self._tenant_id, "key_id": record["id"]})
        try:
            await self._tx.execute(statement, bound)
        except ForeignKeyViolation:
            raise BadRequest(
                "Other records still belong to this one. Delete those first."
            ) from None

    def encoded(
        self, collection: Collection, record: Record, names: tuple[str, ...]
    ) -> dict[str, Any]:
        values = {name: record[name] for name in names}
        for name, encode in collection.encoders.items():
            if name in values:
                values[name] = encode(values[name])
        for name in collection.secrets:
            if values.get(name):
                values[name] = self._context.keyring.encrypt(
                    ENCRYPTION_PURPOSE, values[name], secret_context(collection, record, name)
                )
        return values

    async def _write(self, statement: Statement, row: Sequence[object]) -> int:
        try:
            return await self._tx.execute(statement, row)
        except UniqueViolation as error:
            raise _not_unique(error) from None
        except ForeignKeyViolation:
            # The relations were checked under the lock: what is missing is the tenant itself.
            raise NotFound from None


def secret_context(collection: Collection, record: Record, name: str) -> str:
    """Binds a ciphertext to its field and record, so that a copy does not decrypt elsewhere."""
    return f"{record['tenant_id']}/{collection.name}/{record['id']}/{name}"


def _not_unique(error: UniqueViolation) -> Invalid:
    fields = [name for name in error.columns if name != "tenant_id"]
    return Invalid(dict.fromkeys(fields or ["tenant_id"], NOT_UNIQUE))
