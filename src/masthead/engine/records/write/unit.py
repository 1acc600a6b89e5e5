"""One change of a tenant's records: rows, counters, events and jobs in one transaction.

Every face writes through here: access, validation, the collection's hooks, the row, the outbox.
A unit may hold several changes; they commit together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from masthead.base.caller import Caller, system
from masthead.base.errors import Conflict, Forbidden, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.access import Action, access_of, allow, name_of, refuse_guest
from masthead.engine.records.changes import Change, PreparedTexts
from masthead.engine.records.collection import Collection, Record, Rules
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.query import Shape
from masthead.engine.records.write.change_writer import (
    ChangeWriter,
    SnapshotOwner,
    differing,
    missing_slug,
)
from masthead.engine.records.write.context import WriteContext
from masthead.engine.records.write.relations import check_relations, check_required_value
from masthead.engine.records.write.removal import Removal
from masthead.engine.records.write.restoring import Restoring
from masthead.engine.records.write.trash import TRASH, put_into_trash
from masthead.engine.records.write.validation import NewRecord, check_changes
from masthead.storage.database import Transaction

NOT_LIKE_THIS = (
    "Nothing was changed: your account can't leave the record like this. "
    "Ask an editor or an owner of the site."
)

Observer = Callable[["Unit", Collection, Change], None]
"""Receives every change that a caller requests, in its transaction, but not the changes that follow
from it."""


class Unit(ChangeWriter):
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
        observe: Observer | None = None,
    ) -> None:
        super().__init__(
            transaction, caller, tenant_id, context, emit_events=emit_events, prepared=prepared
        )
        self._access = access_of(caller)
        self._observer = observe

    def by_service(self) -> Unit:
        """The same unit, whose changes are the service's own: they check no access."""
        unit = copy(self)
        unit._caller = system(self.tenant_id)
        unit._access = access_of(unit._caller)
        return unit

    async def create(
        self,
        collection: Collection,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
    ) -> Record:
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
        """Writes a record that was validated before the write lock was taken, as `insert` does."""
        record = await self.insert(collection, new, stamped=stamped, targets_exist=targets_exist)
        await self._check_result(collection, record, self._rules(collection).create)
        self._observe(collection, Change(None, record))
        return record

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
        if (slug := missing_slug(collection, record)) is not None:
            changes[slug.name] = old[slug.name]
            if slug.optional and not old[slug.name]:
                changes[slug.name] = await self._rows.make_optional_slug(collection, slug, record)
            record.update(changes)
        if not differing(changes, old):
            return old
        changes.update(self._stamps(collection, old, record, named))
        record.update(changes)
        if collection.rendering is not None:
            changes.update(await self._render(collection.rendering, old, record))
            record.update(changes)
        changed = differing(changes, old)
        if not changed:
            return old
        record.update(updated=self._now, version=old["version"] + 1)
        await check_relations(self, collection, record, changed=changed)
        await check_required_value(self, collection, old, record)
        change = Change(old, record)
        await self.update_row(collection, change, (*changed, "updated", "version"))
        kept = self.file_keys(collection, record)
        await self.remove_files([key for key in self.file_keys(collection, old) if key not in kept])
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
            raise Forbidden(
                staff_words(
                    "Only an operator of the service can delete %(what)s.", what=name_of(collection)
                )
            )
        old = await self._visible(collection, record_id, Action.DELETE)
        if expected_version is not None and old["version"] != expected_version:
            raise Conflict
        self.refuse_if_read_only()
        await check_required_value(self, collection, old, None)
        into_trash = collection.trashed is not None and not taken_back
        removal = Removal(self, into_trash=into_trash)
        await removal.delete(collection, old, taken_back=taken_back)
        if into_trash:
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
        await self._check_result(collection, record, self._rules(collection).create)
        self._observe(collection, Change(None, record, is_restored=True))
        return collection, record

    async def settle(self) -> None:
        """At the end of the unit: the followers write what its changes mean to them, and the oldest
        snapshots go."""
        while self._noted or self._snapshot_owners:
            owners = list(self._snapshot_owners)
            self._snapshot_owners.clear()
            for owner in owners:
                await self._remove_oldest(owner)
            noted, self._noted = self._noted, {}
            for settle, facts in noted.items():
                await settle(self, facts)

    async def _remove_oldest(self, owner: SnapshotOwner) -> None:
        collection = self.registry[owner.collection]
        statement = self.context.statements.older(collection, owner.by, owner.newest)
        values = {"tenant": self.tenant_id, "value": owner.record_id}
        for (record_id,) in await self.fetch(statement, values):
            for record in await self.find(collection, {"id": record_id}, limit=1):
                await Removal(self, into_trash=False).delete(collection, record)

    def _rules(self, collection: Collection) -> Rules:
        return collection.rules_for(self._access)

    async def _check_result(self, collection: Collection, record: Record, rule: str | None) -> None:
        """A rule must also hold for the written record: a caller can't create one it has no access
        to, nor change one so that it loses access. The error rolls the change back."""
        if not rule:
            return
        if not await self._matches_rule(collection, record["id"], rule):
            raise Forbidden(NOT_LIKE_THIS)

    def _observe(self, collection: Collection, change: Change) -> None:
        if self._observer is not None:
            self._observer(self, collection, change)

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
        prepared = self.context.queries.allowed(shape, rule)
        values: dict[str, Any] = {"tenant": self.tenant_id, "id": record_id}
        Context(self._caller, self._moment).fill(prepared.names, values)
        return bool(await self._tx.fetch(prepared, prepared.bind(values)))
