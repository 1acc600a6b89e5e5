"""Writes records without asking who calls, with all that follows from each change: derived rows,
jobs, snapshots, notes for followers, events and the log. `Unit` adds access and validation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from masthead.base import ids
from masthead.base.caller import Caller, Kind
from masthead.base.errors import Forbidden
from masthead.base.ids import TenantId
from masthead.engine.records.changes import (
    NOTHING_PREPARED,
    Change,
    PreparedTexts,
    Rendering,
    Save,
    Snapshot,
)
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.write.context import WriteContext
from masthead.engine.records.write.record_rows import RecordRows
from masthead.engine.records.write.relations import check_relations
from masthead.engine.records.write.slugs import slugify
from masthead.engine.records.write.transaction import TenantTransaction
from masthead.engine.records.write.unit_changes import UnitChanges
from masthead.engine.records.write.unit_events import UnitEvents
from masthead.engine.records.write.validation import NewRecord
from masthead.storage.database import Deferral, Transaction

Settle = Callable[[Any, Sequence[Any]], Awaitable[None]]
"""Writes what the changes of the unit, its first argument, mean to a follower."""


class SnapshotOwner(NamedTuple):
    """A record with a new snapshot: at the end of the unit its oldest ones may be too many."""

    collection: str
    """The one of the snapshots."""
    by: str
    record_id: str
    newest: int


class ChangeWriter(TenantTransaction):
    def __init__(
        self,
        transaction: Transaction,
        caller: Caller,
        tenant_id: TenantId,
        context: WriteContext,
        *,
        emit_events: bool | tuple[str, ...],
        prepared: PreparedTexts | None = None,
    ) -> None:
        super().__init__(transaction, caller, tenant_id, context)
        self._prepared = prepared or NOTHING_PREPARED
        self._rows = RecordRows(transaction, tenant_id, context.statements, context.keyring)
        self._emit_events = emit_events
        self.events: UnitEvents
        self.changes: UnitChanges
        self._noted: dict[Settle, list[Any]] = {}
        """Notes for the followers of the changed collections."""
        self._snapshot_owners: set[SnapshotOwner] = set()

    @property
    def caller(self) -> Caller:
        return self._caller

    @property
    def emits_events(self) -> bool:
        """Not in an import: what it writes has not happened now."""
        return self._emit_events is True

    async def begin(self) -> None:
        await super().begin()
        self.events = UnitEvents(self.tenant_id, self._version, self._now, self._emit_events)
        self.changes = UnitChanges(
            self.tenant_id, self._version, self._now, is_watched=self._is_watched
        )

    def _origin(self) -> str:
        site = self.tenant.site
        return self.context.origin_of(site.slug, site.settings.get("custom_domain", ""))

    async def insert(
        self,
        collection: Collection,
        new: NewRecord,
        *,
        stamped: Mapping[str, Any] | None = None,
        targets_exist: bool = False,
    ) -> Record:
        """Writes a valid record. `stamped` are fields that only our own code may set (hashes, file
        sizes, the creation date of an imported record). `targets_exist`: the unit has just written
        the records that it points at."""
        record: Record = {
            "id": new.id or ids.new_id(),
            "tenant_id": self._tenant_of(collection, new.id),
            **new.fields,
            "created": self._now,
            "updated": self._now,
            "version": 1,
            **(stamped or {}),
        }
        new_slug = missing_slug(collection, record)
        if new_slug and new_slug.optional:
            record[new_slug.name] = await self._rows.make_optional_slug(
                collection, new_slug, record
            )
            new_slug = None
        elif new_slug:
            record[new_slug.name] = slugify(record[new_slug.source], new_slug.max)
        if not targets_exist:
            await check_relations(self, collection, record)
        self.refuse_if_read_only()
        record.update(self._stamps(collection, None, record, new.named))
        if collection.rendering is not None:
            record.update(await self._render(collection.rendering, None, record))
        if new_slug:
            await self._rows.insert_with_slug(collection, record, new_slug)
        else:
            await self._rows.insert(collection, record)
        await self._record_change(collection, Change(None, record))
        return record

    def _tenant_of(self, collection: Collection, record_id: str) -> str:
        # A tenant's own row belongs to itself, so its id is chosen before the unit begins.
        if collection.name == "tenants" and record_id != self.tenant_id:
            raise Forbidden("Operators create sites in the admin, under Sites, New site.")
        return self.tenant_id

    def _stamps(
        self, collection: Collection, old: Record | None, new: Record, named: frozenset[str]
    ) -> Mapping[str, Any]:
        save = Save(old, new, named, self._now, self.tenant.site, self._caller, self._prepared)
        return collection.before_save(save)

    async def _render(
        self, rendering: Rendering, old: Record | None, new: Record
    ) -> Mapping[str, Any]:
        """The version of a new text for readers. It was prepared, or the change itself waits for
        it."""
        text = new[rendering.of]
        if old is not None and text == old[rendering.of]:
            return {}
        rendered = self._prepared.texts.get(text) if text else ""
        return rendering.stored(text, await rendering.make(text) if rendered is None else rendered)

    def batched_inserts(self) -> AbstractAsyncContextManager[None]:
        """New records of this block are inserted at its end, many in one round trip.

        Nothing in the block may read them, and a constraint that they violate ends the unit."""
        return self._rows.batched_inserts()

    async def insert_again(self, collection: Collection, record: Record) -> None:
        """Writes a deleted record as it was, without its hooks."""
        if (slug := collection.slug) is not None:
            await self._rows.insert_with_slug(collection, record, slug)
        else:
            await self._rows.insert(collection, record)
        await self._record_change(collection, Change(None, record, is_restored=True))

    async def update_row(
        self, collection: Collection, change: Change, names: tuple[str, ...]
    ) -> None:
        """Writes the fields with these names, which have changed."""
        await self._rows.update(collection, change.record, names)
        await self._record_change(collection, change)

    async def point(self, collection: Collection, old: Record, name: str, target: Any) -> None:
        """Points a relation of a record at something else, as a change of its own."""
        record = {**old, name: target, "updated": self._now, "version": old["version"] + 1}
        await self.update_row(collection, Change(old, record), (name, "updated", "version"))

    async def delete_row(
        self, collection: Collection, record: Record, *, taken_back: bool = False
    ) -> None:
        """`taken_back`: as if it had never been created, so the counts per day lose it on the day
        that they got it."""
        await self._rows.delete(collection, record)
        await self._record_change(collection, Change(record, None), taken_back=taken_back)

    def file_keys(self, collection: Collection, record: Record) -> list[str]:
        """The keys of a record's stored files."""
        names = [record[name] for name in collection.files]
        return [file_key(self.tenant_id, collection, record["id"], name) for name in names if name]

    async def remove_files(self, keys: Sequence[str]) -> None:
        """After the commit."""
        if keys:
            await self.enqueue("files.remove", {"keys": keys})

    def append(self, collection: Collection, values: Mapping[str, Any]) -> None:
        """Adds a record to a log: with the unit's other rows, and without anything that follows
        from it."""
        record = {
            "id": ids.new_log_id(),
            "tenant_id": self.tenant_id,
            **values,
            "created": self._now,
            "updated": self._now,
            "version": 1,
        }
        statement, row = self._rows.new_row(collection, record)
        self._tx.defer(Deferral(statement, [row]))
        self.changes.add(collection, Change(None, record))

    async def render_again(self, collection: Collection, record_id: str, text: str) -> None:
        """Renders by the current rules, if the record still has the prepared text. This changes no
        version and fires no event."""
        rendering = collection.rendering
        assert rendering is not None
        for old in await self.find(collection, {"id": record_id}, limit=1):
            if old[rendering.of] == text:
                stored = rendering.stored(text, self._prepared.texts[text])
                await self._rows.update(collection, {**old, **stored}, tuple(stored))

    async def list_again(self, collection: Collection, record_id: str) -> None:
        """Puts a record into the listings that its collection has had only since it was saved."""
        for record in await self.find(collection, {"id": record_id}, limit=1):
            await self.context.derived.list_again(self._tx, self.tenant_id, collection, record)

    async def order_again(self, collection: Collection, record_ids: Sequence[str]) -> None:
        """Makes the keys of their order again. This changes no version and fires no event."""
        await self._rows.order_again(collection, record_ids)

    async def stamp(self, collection: Collection, old: Record, values: Mapping[str, Any]) -> None:
        """Writes what the service itself derives. No new version: the record is as it was."""
        record: Record = {**old, **values}
        record.update(self._stamps(collection, old, record, frozenset(values)))
        if changed := differing(record, old):
            await self._rows.update(collection, record, changed)
            await self._record_change(collection, Change(old, record))

    async def _record_change(
        self, collection: Collection, change: Change, *, taken_back: bool = False
    ) -> None:
        relisted = collection.relisted(change)
        await self.context.derived.update(
            self._tx,
            self.tenant_id,
            self._version,
            self._now,
            collection=collection,
            change=change,
            relisted=relisted,
            taken_back=taken_back,
        )
        if collection.is_identity:
            await self.mark_identity()
        for job in collection.jobs(change):
            await self.enqueue(job.kind, job.payload, job.run_at)
        for snapshot in collection.snapshots(change):
            await self.store_snapshot(snapshot)
        for follower in collection.followers:
            for fact in follower.note(change, relisted):
                self._noted.setdefault(follower.settle, []).append(fact)
        self.events.write_caused(collection, change, self._origin)
        self.changes.add(collection, change)

    async def store_snapshot(self, snapshot: Snapshot) -> None:
        """Checks no access: the change that it belongs to does."""
        collection = self.context.registry[snapshot.collection]
        who = _author(self._caller) if snapshot.names_caller else {}
        new = NewRecord.of(collection, {**snapshot.values, **who})
        new = new._replace(id=ids.new_log_id())
        await self.insert(collection, new, targets_exist=True)
        by = snapshot.by
        if not snapshot.newest:
            return
        owner = SnapshotOwner(collection.name, by, snapshot.values[by], snapshot.newest)
        self._snapshot_owners.add(owner)

    async def store_copies(
        self, collection: Collection, records: Sequence[Record], *, unlinked: Sequence[str] = ()
    ) -> None:
        """Records of another installation, as they are there: nothing is checked, no hook is
        called, and nothing follows but the rows that are derived from them. `unlinked` relations
        stay empty until `link_copies`."""
        empty = dict.fromkeys(unlinked, "")
        async with self._rows.batched_inserts():
            for each in records:
                await self._rows.insert(collection, {**each, **empty})
        for each in records:
            self.context.derived.add_copy(
                self._tx, self.tenant_id, self._version, collection=collection, record=each
            )
        if collection.is_identity:
            await self.mark_identity()

    async def link_copies(
        self, collection: Collection, records: Sequence[Record], names: tuple[str, ...]
    ) -> None:
        for each in records:
            await self._rows.update(collection, each, names)

    def store_events(self) -> None:
        self._tx.defer(Deferral(self.context.statements.event, self.events.take_rows()))

    def store_changes(self) -> None:
        """In the log, and tells the processes that read it."""
        if rows := self.changes.take_rows():
            self._tx.defer(Deferral(self.context.statements.change, rows))
            self._tx.notify(self.tenant_id)


def missing_slug(collection: Collection, record: Record) -> Slug | None:
    """The slug field that is still to be filled."""
    field = collection.slug
    return field if field is not None and not record[field.name] else None


def differing(changes: Record, old: Record) -> tuple[str, ...]:
    return tuple(name for name, value in changes.items() if value != old[name])


def _author(caller: Caller) -> Record:
    """For a record that says who made a change: the account of staff, else the kind of caller."""
    if caller.is_staff_account:
        return {"changed_by": str(caller.kind), "account_id": caller.id}
    is_other = caller.kind in (Kind.MEMBER, Kind.KEY)
    return {"changed_by": str(caller.kind if is_other else Kind.SYSTEM), "account_id": ""}
