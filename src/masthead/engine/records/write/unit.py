"""One change of a tenant's records: rows, counters, events and jobs in one transaction.

Every face writes through here: access, validation, the collection's hooks, the row, the outbox.
A unit may hold several changes; they commit together or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from typing import Any

from masthead.base import ids
from masthead.base.caller import Caller, Kind, system
from masthead.base.errors import Conflict, Forbidden, NotFound
from masthead.base.ids import TenantId
from masthead.engine.records.access import Action, access_of, allow, name_of, refuse_guest
from masthead.engine.records.changes import (
    NOTHING_PREPARED,
    Change,
    PreparedTexts,
    Rendering,
    Save,
    Snapshot,
)
from masthead.engine.records.collection import Collection, Pointer, Record, Rules
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.query import Shape
from masthead.engine.records.write.context import WriteContext
from masthead.engine.records.write.record_rows import RecordRows
from masthead.engine.records.write.relations import (
    check_relations,
    check_required_value,
    find_dependents,
    is_deleted_with_target,
    value_without,
)
from masthead.engine.records.write.slugs import slugify
from masthead.engine.records.write.transaction import TenantTransaction
from masthead.engine.records.write.trash import TRASH, Removal, Restoring, put_into_trash
from masthead.engine.records.write.unit_changes import UnitChanges
from masthead.engine.records.write.unit_events import UnitEvents
from masthead.engine.records.write.validation import NewRecord, check_changes
from masthead.storage.database import Deferral, Transaction

NOT_LIKE_THIS = (
    "Nothing was changed: your account can't leave the record like this. "
    "Ask an editor or an owner of the site."
)

Settle = Callable[["Unit", Sequence[Any]], Awaitable[None]]


class Unit(TenantTransaction):
    """Constructed by `Records.unit`, which opens and ends the transaction."""

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
        self._access = access_of(caller)
        self._rows = RecordRows(transaction, tenant_id, context.statements, context.keyring)
        self._emit_events = emit_events
        self.events: UnitEvents
        self.changes: UnitChanges
        self._noted: dict[Settle, list[Any]] = {}
        """Notes for the followers of the changed collections."""

    @property
    def caller(self) -> Caller:
        return self._caller

    @property
    def emits_events(self) -> bool:
        """Not in an import: what it writes has not happened now."""
        return self._emit_events is True

    def by_service(self) -> Unit:
        """The same unit, whose changes are the service's own: they check no access."""
        unit = copy(self)
        unit._caller = system(self.tenant_id)
        unit._access = access_of(unit._caller)
        return unit

    async def begin(self) -> None:
        await super().begin()
        self.events = UnitEvents(self.tenant_id, self._version, self._now, self._emit_events)
        self.changes = UnitChanges(
            self.tenant_id, self._version, self._now, is_watched=self._is_watched
        )

    def _origin(self) -> str:
        site = self.tenant.site
        return self._context.origin_of(site.slug, site.settings.get("custom_domain", ""))

    async def create(
        self,
        collection: Collection,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
    ) -> Record:
        """`stamped` are fields that only our own code may set (hashes, file sizes, the creation
        date of an imported record)."""
        checked = NewRecord.checked(self._caller, collection, given)
        return await self.store(collection, checked, stamped=stamped)

    async def store(
        self,
        collection: Collection,
        new: NewRecord,
        *,
        stamped: Mapping[str, Any] | None = None,
        targets_exist: bool = False,
    ) -> Record:
        """Writes a record that was validated before the write lock was taken. `targets_exist`: the
        unit has just written the records that it points at."""
        record: Record = {
            "id": new.id or ids.new_id(),
            "tenant_id": self._tenant_of(collection, new.id),
            **new.fields,
            "created": self._now,
            "updated": self._now,
            "version": 1,
            **(stamped or {}),
        }
        new_slug = _missing_slug(collection, record)
        if new_slug and new_slug.optional:
            record[new_slug.name] = await self._rows.make_optional_slug(
                collection, new_slug, record
            )
            new_slug = None
        elif new_slug:
            record[new_slug.name] = slugify(record[new_slug.source], new_slug.max)
        if not targets_exist:
            await check_relations(self, self._context, collection, record)
        self.refuse_if_read_only()
        record.update(self._stamps(collection, None, record, new.named))
        if collection.rendering is not None:
            record.update(await self._render(collection.rendering, None, record))
        if new_slug:
            await self._rows.insert_with_slug(collection, record, new_slug)
        else:
            await self._rows.insert(collection, record)
        change = Change(None, record)
        await self._record_change(collection, change)
        await self._check_result(collection, record, self._rules(collection).create)
        self._observe(collection, change)
        return record

    def _rules(self, collection: Collection) -> Rules:
        return collection.rules_for(self._access)

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

    async def _check_result(self, collection: Collection, record: Record, rule: str | None) -> None:
        """A rule must also hold for the written record: a caller can't create one it has no access
        to, nor change one so that it loses access. The error rolls the change back."""
        if not rule:
            return
        if not await self._matches_rule(collection, record["id"], rule):
            raise Forbidden(NOT_LIKE_THIS)

    def batched_inserts(self) -> AbstractAsyncContextManager[None]:
        """New records of this block are inserted at its end, many in one round trip.

        Nothing in the block may read them, and a constraint that they violate ends the unit."""
        return self._rows.batched_inserts()

    async def update(
        self,
        collection: Collection,
        record_id: str,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Record:
        """Without a difference there is no new version and no event."""
        rule = self._rules(collection).update
        old = await self._visible(collection, record_id, Action.UPDATE)
        if expected_version is not None and old["version"] != expected_version:
            raise Conflict
        changes = {**check_changes(collection, given, self._access, old), **(stamped or {})}
        self.refuse_if_read_only()
        record: Record = {**old, **changes}
        named = frozenset(changes)
        if (slug := _missing_slug(collection, record)) is not None:
            changes[slug.name] = old[slug.name]
            if slug.optional and not old[slug.name]:
                changes[slug.name] = await self._rows.make_optional_slug(collection, slug, record)
            record.update(changes)
        if not _differing(changes, old):
            return old
        changes.update(self._stamps(collection, old, record, named))
        record.update(changes)
        if collection.rendering is not None:
            changes.update(await self._render(collection.rendering, old, record))
            record.update(changes)
        changed = _differing(changes, old)
        if not changed:
            return old
        record.update(updated=self._now, version=old["version"] + 1)
        await check_relations(self, self._context, collection, record, changed=changed)
        await check_required_value(self, collection, old, record)
        await self._rows.update(collection, record, (*changed, "updated", "version"))
        dropped = [old[name] for name in collection.files if old[name] != record[name]]
        await self._remove_files(collection, dropped, record_id)
        change = Change(old, record)
        await self._record_change(collection, change)
        await self._check_result(collection, record, rule)
        self._observe(collection, change)
        return record

    async def delete(
        self,
        collection: Collection,
        record_id: str,
        *,
        expected_version: int | None = None,
        taken_back: bool = False,
    ) -> Record:
        """`taken_back`: as if it had never been created, so the counts per day lose it on the day
        that they got it."""
        if not collection.owner_may_delete and not self._caller.is_platform:
            refuse_guest(self._caller)
            raise Forbidden(f"Only an operator of the service can delete {name_of(collection)}.")
        old = await self._visible(collection, record_id, Action.DELETE)
        if expected_version is not None and old["version"] != expected_version:
            raise Conflict
        self.refuse_if_read_only()
        await check_required_value(self, collection, old, None)
        removal = Removal() if collection.trashed is not None and not taken_back else None
        await self._delete(collection, old, taken_back=taken_back, removal=removal)
        if removal is not None:
            service = self.by_service()
            await put_into_trash(service, collection, old, removal, deleted_by=self._caller.id)
        self._observe(collection, Change(old, None))
        return old

    async def restore(self, entry_id: str) -> tuple[Collection, Record]:
        """Brings a record back from the trash, with everything that was deleted with it. Returns it
        and its collection."""
        entry = await self._visible(self.registry[TRASH], entry_id, Action.UPDATE)
        self.refuse_if_read_only()
        collection = self.registry[entry["type"]]
        record = await Restoring(self, entry).run()
        self._observe(collection, Change(None, record, is_restored=True))
        return collection, record

    async def bring_back(self, collection: Collection, record: Record) -> None:
        """Writes a record as it was, without its hooks. For `Restoring`."""
        if (slug := collection.slug) is not None:
            await self._rows.insert_with_slug(collection, record, slug)
        else:
            await self._rows.insert(collection, record)
        await self._record_change(collection, Change(None, record, is_restored=True))

    async def attach(self, collection: Collection, old: Record, name: str, target_id: str) -> None:
        """Points a record at its target again. For `Restoring`."""
        record = {**old, name: target_id, "updated": self._now, "version": old["version"] + 1}
        await self._rows.update(collection, record, (name, "updated", "version"))
        await self._record_change(collection, Change(old, record))

    async def remove_entry(self, entry: Record) -> None:
        """Deletes an entry of the trash with its items, but no file. For `Restoring`."""
        await self._delete(self.registry[TRASH], {**entry, "files": []})

    def _observe(self, collection: Collection, change: Change) -> None:
        if self._context.observe is not None:
            self._context.observe(self, collection, change)

    def append(self, collection: Collection, values: Mapping[str, Any]) -> None:
        """Adds a record to a log: with the unit's other rows, and without anything that follows
        from it."""
        record = {
            "id": ids.new_id(),
            "tenant_id": self.tenant_id,
            **values,
            "created": self._now,
            "updated": self._now,
            "version": 1,
        }
        statement = self._context.statements.insert(collection)
        row = statement.bind(self._rows.encoded(collection, record, tuple(record)))
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
            await self._context.derived.list_again(self._tx, self.tenant_id, collection, record)

    async def stamp(self, collection: Collection, old: Record, values: Mapping[str, Any]) -> None:
        """Writes what the service itself derives. No new version: the record is as it was."""
        record: Record = {**old, **values}
        record.update(self._stamps(collection, old, record, frozenset(values)))
        if changed := _differing(record, old):
            await self._rows.update(collection, record, changed)
            await self._record_change(collection, Change(old, record))

    async def settle(self) -> None:
        """At the end of the unit: the followers write what its changes mean to them."""
        while self._noted:
            noted, self._noted = self._noted, {}
            for settle, facts in noted.items():
                await settle(self, facts)

    async def has_dependents(
        self, collection: Collection, record_id: str, of: Container[str] = ()
    ) -> bool:
        """Whether a record of this collection, or of those named by `of`, points at the one with
        this id."""
        for source, relation in self._context.registry.referrers[collection.name]:
            is_asked = source.name in of if of else source is collection
            if is_asked and await find_dependents(
                self, self._context, source, relation, record_id=record_id, limit=1
            ):
                return True
        return False

    def _tenant_of(self, collection: Collection, record_id: str) -> str:
        # A tenant's own row belongs to itself, so its id is chosen before the unit begins.
        if collection.name == "tenants" and record_id != self.tenant_id:
            raise Forbidden("Operators create sites in the admin, under Sites, New site.")
        return self.tenant_id

    async def _visible(self, collection: Collection, record_id: str, action: Action) -> Record:
        """The record with all fields, if the rule lets the caller see it."""
        rule = allow(self._caller, collection, action)
        if not self._caller.is_admin and not await self._matches_rule(collection, record_id, rule):
            raise NotFound
        found = await self.find(collection, {"id": record_id}, limit=1)
        if not found:
            raise NotFound
        return found[0]

    async def _matches_rule(self, collection: Collection, record_id: str, rule: str) -> bool:
        shape = Shape(collection.name, self._access, has_tenant=True)
        prepared = self._context.queries.allowed(shape, rule)
        values: dict[str, Any] = {"tenant": self.tenant_id, "id": record_id}
        Context(self._caller, self._moment).fill(prepared.names, values)
        return bool(await self._tx.fetch(prepared, prepared.bind(values)))

    async def _delete(
        self,
        collection: Collection,
        record: Record,
        *,
        taken_back: bool = False,
        removal: Removal | None = None,
    ) -> None:
        """`removal` gathers what goes into the trash. The files stay then."""
        await self._release(collection, record, removal)
        await self._rows.delete(collection, record)
        files = [record[name] for name in collection.files]
        if removal is None:
            await self._remove_files(collection, files, record["id"])
        else:
            keys = [file_key(self.tenant_id, collection, record["id"], name) for name in files]
            removal.note_deleted(collection, record, keys)
        await self._record_change(collection, Change(record, None), taken_back=taken_back)

    async def _release(
        self, collection: Collection, record: Record, removal: Removal | None
    ) -> None:
        """Deletes or detaches the records that point at this one, each as a separate change."""
        for source, relation in self._context.registry.referrers[collection.name]:
            while found := await find_dependents(
                self, self._context, source, relation, record_id=record["id"]
            ):
                for dependent in found:
                    if is_deleted_with_target(relation):
                        # The deletion of another may have changed it: that of the comment above.
                        for each in await self._reread(source, dependent):
                            await self._delete(source, each, removal=removal)
                        continue
                    if removal is not None:
                        after = value_without(relation, dependent, record)
                        removal.note_detached(source, relation, dependent, after)
                    await self._detach(source, relation, dependent, record)

    async def _reread(self, collection: Collection, record: Record) -> list[Record]:
        if all(relation.to != collection.name for relation in collection.relations):
            return [record]
        return await self.find(collection, {"id": record["id"]}, limit=1)

    async def _detach(
        self, source: Collection, relation: Pointer, dependent: Record, target: Record
    ) -> None:
        record = {
            **dependent,
            relation.name: value_without(relation, dependent, target),
            "updated": self._now,
            "version": dependent["version"] + 1,
        }
        await self._rows.update(source, record, (relation.name, "updated", "version"))
        await self._record_change(source, Change(dependent, record))

    async def _remove_files(
        self, collection: Collection, names: Iterable[str], record_id: str
    ) -> None:
        names = [name for name in names if name]
        if names:
            keys = [file_key(self.tenant_id, collection, record_id, name) for name in names]
            await self.enqueue("files.remove", {"keys": keys})

    async def _record_change(
        self, collection: Collection, change: Change, *, taken_back: bool = False
    ) -> None:
        relisted = collection.relisted(change)
        await self._context.derived.update(
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
            self._context.derived.add_copy(
                self._tx, self.tenant_id, self._version, collection=collection, record=each
            )
        if collection.is_identity:
            await self.mark_identity()

    async def link_copies(
        self, collection: Collection, records: Sequence[Record], names: tuple[str, ...]
    ) -> None:
        for each in records:
            await self._rows.update(collection, each, names)

    async def store_snapshot(self, snapshot: Snapshot) -> None:
        """Checks no access: the change that it belongs to does."""
        collection = self._context.registry[snapshot.collection]
        who = _author(self._caller) if snapshot.names_caller else {}
        new = NewRecord.of(collection, {**snapshot.values, **who})
        await self.store(collection, new, targets_exist=True)
        statement = self._context.statements.older(collection, snapshot.by, snapshot.newest)
        owner = snapshot.values[snapshot.by]
        for (record_id,) in await self.fetch(statement, {"tenant": self.tenant_id, "value": owner}):
            for record in await self.find(collection, {"id": record_id}, limit=1):
                await self._delete(collection, record)

    def store_events(self) -> None:
        self._tx.defer(Deferral(self._context.statements.event, self.events.take_rows()))

    def store_changes(self) -> None:
        """In the log, and tells the processes that read it."""
        if rows := self.changes.take_rows():
            self._tx.defer(Deferral(self._context.statements.change, rows))
            self._tx.notify(self.tenant_id)


def file_key(tenant_id: str, collection: Collection, record_id: str, name: str) -> str:
    """The key of a record's file in the object store."""
    return f"{tenant_id}/{collection.name}/{record_id}/{name}"


def _missing_slug(collection: Collection, record: Record) -> Slug | None:
    """The slug field that is still to be filled."""
    field = collection.slug
    return field if field is not None and not record[field.name] else None


def _differing(changes: Record, old: Record) -> tuple[str, ...]:
    return tuple(name for name, value in changes.items() if value != old[name])


def _author(caller: Caller) -> Record:
    """For a record that says who made a change: the account of staff, else the kind of caller."""
    if caller.is_staff_account:
        return {"changed_by": str(caller.kind), "account_id": caller.id}
    is_other = caller.kind in (Kind.MEMBER, Kind.KEY)
    return {"changed_by": str(caller.kind if is_other else Kind.SYSTEM), "account_id": ""}
