"""The rows of a unit's records, and the statements that read and change them, compiled once per
collection and set of columns.

`RecordRows` encodes a record's values, runs the statements that insert, update and delete it, and
translates violated constraints. Access, validation and all that follows from a change are the
unit's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import sqlalchemy as sa

from masthead.base.config.keyring import KeyRing
from masthead.base.errors import BadRequest, Invalid, NotFound, Problem
from masthead.base.ids import TenantId
from masthead.base.languages.alphabet import letters_of
from masthead.base.languages.words import words
from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.collection import Collection, Pointer, Record, letters_column
from masthead.engine.records.derived.list_items import (
    item_rows,
    joined,
    listed_totals,
    listed_values,
)
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.tables import record_changes, tenant_states
from masthead.engine.records.write.slugs import find_free_slug, find_numbered_slug, slugify
from masthead.storage import dialects
from masthead.storage.database import (
    Database,
    ForeignKeyViolation,
    Row,
    Statement,
    Transaction,
    UniqueViolation,
)
from masthead.storage.dialects import not_empty

NOT_UNIQUE = Problem("validation_not_unique", words("This value is taken. Choose another one."))
INSERT_BATCH = 100
LONG_TEXT = 256 * 1024
"""Characters of a text from which writing its row takes milliseconds."""
ENCRYPTION_PURPOSE = "record-secret"


class RecordRows:
    def __init__(
        self,
        transaction: Transaction,
        tenant_id: TenantId,
        statements: WriteStatements,
        keyring: KeyRing,
    ) -> None:
        self._tx = transaction
        self._tenant_id = tenant_id
        self._statements = statements
        self._keyring = keyring
        self._pending: dict[str, tuple[Statement, list[Row]]] | None = None

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
        statement, row = self.new_row(collection, record)
        if self._pending is not None:
            self._pending.setdefault(collection.name, (statement, []))[1].append(row)
            return
        await self._write(statement, row, _is_long(collection, record))

    def new_row(self, collection: Collection, record: Record) -> tuple[Statement, Row]:
        statement = self._statements.insert(collection)
        return statement, statement.bind(self._encode(collection, record, dict(record)))

    async def insert_with_slug(self, collection: Collection, record: Record, field: Slug) -> None:
        """The insert itself claims a slug that is made from a title. If another record has it,
        nothing is inserted and the slug gets a number."""
        statement = self._statements.insert_unless_taken(collection, field.name)
        base = record[field.name]
        if base in field.reserved:
            record[field.name] = await self._number(collection, field, base)
        is_long = _is_long(collection, record)
        while not await self._write(
            statement, statement.bind(self._encode(collection, record, dict(record))), is_long
        ):
            record[field.name] = await self._number(collection, field, base)

    async def _number(self, collection: Collection, field: Slug, base: str) -> str:
        is_taken = partial(self._is_taken, collection, field.name)
        return await find_numbered_slug(base, is_taken, field.max)

    async def make_optional_slug(self, collection: Collection, field: Slug, record: Record) -> str:
        """The unit holds the tenant's write lock, so a free slug stays free."""
        source = record[field.source]
        if not source:
            return ""
        is_taken = partial(self._is_taken, collection, field.name)
        return await find_free_slug(slugify(source, field.max), is_taken, field.max)

    async def _is_taken(self, collection: Collection, name: str, value: str) -> bool:
        statement = self._statements.is_taken(collection, name)
        bound = statement.bind({"tenant": self._tenant_id, "value": value})
        return bool(await self._tx.fetch(statement, bound))

    async def update(self, collection: Collection, record: Record, names: tuple[str, ...]) -> None:
        values = {name: record[name] for name in sorted(set(names))}
        encoded = self._encode(collection, record, values)
        statement = self._statements.update(collection, tuple(encoded))
        bound: dict[str, Any] = {f"new_{name}": value for name, value in encoded.items()}
        bound.update(key_tenant=self._tenant_id, key_id=record["id"])
        await self._write(statement, statement.bind(bound), _is_long(collection, record))

    async def order_again(self, collection: Collection, record_ids: Sequence[str]) -> None:
        columns = tuple(map(letters_column, collection.by_letters))
        found = self._statements.texts_and_keys(collection)
        wanted = {"tenant": self._tenant_id, "keys": self._statements.list_value(record_ids)}
        update = self._statements.update(collection, columns)
        rows = []
        for record_id, *stored in await self._tx.fetch(found, found.bind(wanted)):
            texts, keys = stored[: len(columns)], stored[len(columns) :]
            made = list(map(letters_of, texts))
            if made != keys:
                new = {f"new_{column}": key for column, key in zip(columns, made, strict=True)}
                key = {"key_tenant": self._tenant_id, "key_id": record_id}
                rows.append(update.bind({**new, **key}))
        if rows:
            await self._tx.execute_many(update, rows)

    async def delete(self, collection: Collection, record: Record) -> None:
        statement = self._statements.delete(collection)
        bound = statement.bind({"key_tenant": self._tenant_id, "key_id": record["id"]})
        try:
            await self._tx.execute(statement, bound, slow=_is_long(collection, record))
        except ForeignKeyViolation:
            raise BadRequest(
                words("Other records still belong to this one. Delete those first.")
            ) from None

    def _encode(
        self, collection: Collection, record: Record, values: dict[str, Any]
    ) -> dict[str, Any]:
        """Replaces values of the record by what the database stores of them, and adds the keys of
        their order."""
        for name in collection.by_letters:
            if name in values:
                values[letters_column(name)] = letters_of(values[name])
        for name, encode in collection.encoders.items():
            if name in values:
                values[name] = encode(values[name])
        for name in collection.secrets:
            if values.get(name):
                values[name] = self._keyring.encrypt(
                    ENCRYPTION_PURPOSE, values[name], secret_context(collection, record, name)
                )
        return values

    async def _write(self, statement: Statement, row: Sequence[object], is_long: bool) -> int:
        try:
            return await self._tx.execute(statement, row, slow=is_long)
        except UniqueViolation as error:
            raise _not_unique(error) from None
        except ForeignKeyViolation:
            # The relations were checked under the lock: what is missing is the tenant itself.
            raise NotFound from None


def _is_long(collection: Collection, record: Record) -> bool:
    """A change of any of its columns writes the whole row again."""
    return any(len(record.get(name) or "") > LONG_TEXT for name in collection.long_texts)


def secret_context(collection: Collection, record: Record, name: str) -> str:
    """Binds a ciphertext to its field and record, so that a copy does not decrypt elsewhere."""
    return f"{record['tenant_id']}/{collection.name}/{record['id']}/{name}"


def _not_unique(error: UniqueViolation) -> Invalid:
    fields = [name for name in error.columns if name != "tenant_id"]
    return Invalid(dict.fromkeys(fields or ["tenant_id"], NOT_UNIQUE))


class WriteStatements:
    def __init__(
        self, database: Database, tables: Mapping[str, sa.Table], settings: Collection
    ) -> None:
        self._database = database
        self._tables = tables
        self._prepared: dict[Hashable, Statement] = {}
        self.next_version = database.compile(_next_version())
        self.first_version = database.compile(_first_version())
        self.site = database.compile(
            _site(tables[settings.name], tables["tenants"], settings.hooks_read)
        )
        self.mark_identity = database.compile(_mark_identity())
        self.event = database.compile(sa.insert(events))
        self.change = database.compile(sa.insert(record_changes))
        self.job = database.compile(sa.insert(jobs))
        self.unstarted_job = database.compile(_delete_unstarted_job())
        self.waiting_jobs = database.compile(_waiting_jobs())
        self.attempts = database.compile(_attempts())
        self.listed_totals = database.compile(listed_totals())

    def insert(self, collection: Collection) -> Statement:
        return self._cached(
            ("insert", collection.name), lambda: sa.insert(self._tables[collection.name])
        )

    def insert_unless_taken(self, collection: Collection, name: str) -> Statement:
        """Inserts nothing if another record of the tenant has the same value of the field."""

        def build() -> sa.Insert:
            table = self._tables[collection.name]
            key = ("tenant_id", name)
            others = [column.name for column in table.c if column.name not in key]
            return dialects.insert_missing(table, key, others)

        return self._cached(("insert unless taken", collection.name, name), build)

    def update(self, collection: Collection, names: tuple[str, ...]) -> Statement:
        def build() -> sa.Update:
            table = self._tables[collection.name]
            return (
                sa.update(table)
                .where(*_key(table))
                .values({name: sa.bindparam(f"new_{name}", required=True) for name in names})
            )

        return self._cached(("update", collection.name, names), build)

    def delete(self, collection: Collection) -> Statement:
        def build() -> sa.Delete:
            table = self._tables[collection.name]
            return sa.delete(table).where(*_key(table))

        return self._cached(("delete", collection.name), build)

    def find(self, collection: Collection, names: tuple[str, ...], has_tenant: bool) -> Statement:
        """Whole rows by equality, hidden columns included. For the engine and `identity/`."""

        def build() -> sa.Select[Any]:
            skipped = {index.skip_empty for index in collection.indexes if index.skip_empty}
            table = self._tables[collection.name]
            query = sa.select(*(table.c[each.name] for each in collection.all_fields))
            query = query.where(*(table.c[name] == sa.bindparam(name) for name in names))
            query = query.where(*(not_empty(table.c[name]) for name in skipped if name in names))
            if has_tenant:
                query = query.where(table.c.tenant_id == sa.bindparam("tenant"))
            # Only all of them are read in this order: SQLite would do so to find a few, too.
            created = dialects.without_index(table.c.created) if names else table.c.created
            return query.order_by(created, table.c.id).limit(sa.bindparam("limit"))

        return self._cached(("find", collection.name, names, has_tenant), build)

    def tenants_of(self, collection: Collection) -> Statement:
        """The tenants that have a record of this id. Two are enough to know that it is not one."""

        def build() -> sa.Select[Any]:
            c = self._tables[collection.name].c
            return sa.select(c.tenant_id).where(c.id == sa.bindparam("id")).limit(2)

        return self._cached(("tenants of", collection.name), build)

    def list_value(self, values: Sequence[object]) -> object:
        return self._database.list_value(values)

    def existing(self, collection: Collection, by: str) -> Statement:
        """The `keys` that records of the tenant have in the field `by`: its index is enough."""

        def build() -> sa.Select[Any]:
            c = self._tables[collection.name].c
            is_wanted = dialects.any_of(c[by], sa.bindparam("keys", required=True))
            return sa.select(c[by]).where(c.tenant_id == sa.bindparam("tenant"), is_wanted)

        return self._cached(("existing", collection.name, by), build)

    def find_some(self, collection: Collection) -> Statement:
        """Whole rows of the tenant's records whose ids are among the `keys`."""

        def build() -> sa.Select[Any]:
            table = self._tables[collection.name]
            is_wanted = dialects.any_of(table.c.id, sa.bindparam("keys", required=True))
            columns = (table.c[each.name] for each in collection.all_fields)
            return sa.select(*columns).where(table.c.tenant_id == sa.bindparam("tenant"), is_wanted)

        return self._cached(("find some", collection.name), build)

    def texts_and_keys(self, collection: Collection) -> Statement:
        """Ids, texts of `by_letters` and their stored keys of the records whose ids are among the
        `keys`."""

        def build() -> sa.Select[Any]:
            c = self._tables[collection.name].c
            names = (*collection.by_letters, *map(letters_column, collection.by_letters))
            is_wanted = dialects.any_of(c.id, sa.bindparam("keys", required=True))
            query = sa.select(c.id, *(c[name] for name in names))
            return query.where(c.tenant_id == sa.bindparam("tenant"), is_wanted)

        return self._cached(("texts and keys", collection.name), build)

    def dependents(self, collection: Collection, relation: Pointer) -> Statement:
        """Records that point at the target, in no order: with an ORDER BY, SQLite would scan all
        records of the tenant."""

        def build() -> sa.Select[Any]:
            table = self._tables[collection.name]
            query = sa.select(*(table.c[each.name] for each in collection.all_fields))
            is_mine = table.c.tenant_id == sa.bindparam("tenant")
            if isinstance(relation, RelationList):
                items = listed_values.alias()
                query = query.select_from(joined(items, table))
                has_item = item_rows(items, collection, relation.name, sa.bindparam("target"))
                points_at_target = sa.and_(items.c.tenant_id == sa.bindparam("tenant"), has_item)
            else:
                column = table.c[relation.name]
                points_at_target = sa.and_(not_empty(column), column == sa.bindparam("target"))
            return query.where(is_mine, points_at_target).limit(sa.bindparam("limit"))

        return self._cached(("dependents", collection.name, relation.name), build)

    def due(self, collection: Collection, name: str, limit: int) -> Statement:
        def build() -> sa.Select[Any]:
            c = self._tables[collection.name].c
            return (
                sa.select(c.tenant_id, c.id)
                .where(not_empty(c[name]), c[name] <= sa.bindparam("until"))
                .order_by(c[name])
                # A literal: for a parameter PostgreSQL plans to read a tenth of the table.
                .limit(sa.literal_column(str(limit)))
            )

        return self._cached(("due", collection.name, name, limit), build)

    def older(self, collection: Collection, name: str, newest: int) -> Statement:
        """The ids of records by the value of a field, without the newest ones."""

        def build() -> sa.Select[Any]:
            c = self._tables[collection.name].c
            return (
                sa.select(c.id)
                .where(c.tenant_id == sa.bindparam("tenant"), c[name] == sa.bindparam("value"))
                .order_by(c.created.desc(), c.id.desc())
                .offset(newest)
                .limit(newest)
            )

        return self._cached(("older", collection.name, name, newest), build)

    def is_taken(self, collection: Collection, name: str) -> Statement:
        def build() -> sa.Select[Any]:
            table = self._tables[collection.name]
            return sa.select(table.c.id).where(
                table.c.tenant_id == sa.bindparam("tenant"), table.c[name] == sa.bindparam("value")
            )

        return self._cached(("taken", collection.name, name), build)

    def _cached(self, key: Hashable, build: Any) -> Statement:
        statement = self._prepared.get(key)
        if statement is None:
            statement = self._prepared[key] = self._database.compile(build())
        return statement


def _key(table: sa.Table) -> tuple[Any, Any]:
    return (
        table.c.tenant_id == sa.bindparam("key_tenant", required=True),
        table.c.id == sa.bindparam("key_id", required=True),
    )


def _delete_unstarted_job() -> sa.Delete:
    j = jobs.c
    return sa.delete(jobs).where(
        j.tenant_id == sa.bindparam("tenant", required=True),
        j.id == sa.bindparam("id", required=True),
        j.attempts == 0,
    )


def _waiting_jobs() -> sa.Select[Any]:
    j = jobs.c
    return sa.select(j.payload).where(
        j.tenant_id == sa.bindparam("tenant", required=True),
        j.kind == sa.bindparam("kind", required=True),
        j.failed_at == sa.literal_column("''"),
    )


def _attempts() -> sa.Select[Any]:
    j = jobs.c
    return sa.select(j.attempts).where(
        j.tenant_id == sa.bindparam("tenant", required=True),
        j.id == sa.bindparam("id", required=True),
    )


def _next_version() -> Any:
    """Takes the tenant's next version. The row is the tenant's write lock. Nothing is returned for
    a tenant that has no row yet.

    Not the upsert that makes the first one: of that, SQLite could be undone within the statement,
    so it would copy the page twice.
    """
    t = tenant_states.c
    update = sa.update(tenant_states).where(t.tenant_id == sa.bindparam("tenant"))
    return _state(update.values(version=t.version + sa.literal_column("1")))


def _first_version() -> Any:
    """Takes the first version of a tenant, or the next one if another change was faster."""
    return _state(dialects.upsert_add(tenant_states, ("tenant_id",), "version"))


def _state(change: Any) -> Any:
    t = tenant_states.c
    return change.returning(t.version, t.identity_version, t.watched_until)


def _mark_identity() -> sa.Update:
    """Invalidates what is cached of the tenant's accounts, keys and settings."""
    return (
        sa.update(tenant_states)
        .where(tenant_states.c.tenant_id == sa.bindparam("tenant"))
        .values(identity_version=tenant_states.c.version)
    )


def _site(site_settings: sa.Table, tenants: sa.Table, names: Sequence[str]) -> sa.Select[Any]:
    s = site_settings.c
    slug = sa.select(tenants.c.slug).where(tenants.c.id == s.tenant_id).scalar_subquery()
    wanted = (s.read_only_mode, s.deleted_at, slug, *(s[name] for name in names))
    return sa.select(*wanted).where(s.tenant_id == sa.bindparam("tenant"))
