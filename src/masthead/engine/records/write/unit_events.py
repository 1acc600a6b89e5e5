"""The events of one unit: those that its changes cause, with the facts of each change, and those
that our own code writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from masthead.base import ids
from masthead.base.ids import TenantId
from masthead.engine.events.catalog import KINDS
from masthead.engine.records.changes import Change
from masthead.engine.records.collection import Collection, has_short_values


class WrittenEvent(NamedTuple):
    id: str
    name: str
    created: str
    record_id: str = ""
    is_restored: bool = False
    """The record came back from the trash: nobody needs an email about it."""
    payload: str = ""
    """JSON text."""


class UnitEvents:
    """Gathered while the unit changes records, stored when it ends, together with their
    deliveries."""

    def __init__(
        self, tenant_id: TenantId, version: int, now: str, emitted: bool | tuple[str, ...]
    ) -> None:
        """`version` is the tenant's version that the unit takes. `emitted` are the names of the
        events that changes may cause; True is all of them."""
        self._tenant_id = tenant_id
        self._version = version
        self._now = now
        self._emitted = emitted
        self.written: list[WrittenEvent] = []
        self._rows: list[tuple[object, ...]] = []

    def write_caused(
        self, collection: Collection, change: Change, origin: Callable[[], str]
    ) -> None:
        """The events that the collection says the change causes. They hold whole addresses: what
        is sent must be the same at every attempt."""
        if not self._emitted:
            return
        about = None
        for event in collection.events(change):
            if not self._is_emitted(event):
                continue
            about = about or change_facts(collection, change)
            payload = KINDS[event].payload(change.record, change.old) | about
            for name in collection.site_addresses:
                if payload.get(name):
                    payload[name] = origin() + payload[name]
            self.write(
                event,
                payload,
                collection=collection.name,
                record_id=change.record["id"],
                is_restored=change.is_restored,
            )

    def _is_emitted(self, name: str) -> bool:
        wanted = self._emitted
        return wanted if isinstance(wanted, bool) else name in wanted

    def write(
        self,
        name: str,
        payload: Mapping[str, Any],
        *,
        collection: str = "",
        record_id: str = "",
        is_restored: bool = False,
    ) -> WrittenEvent:
        text = msgspec.json.encode(payload).decode()
        written = WrittenEvent(ids.new_log_id(), name, self._now, record_id, is_restored, text)
        row = (
            self._tenant_id,
            self._version,
            len(self.written),
            written.id,
            name,
            collection,
            record_id,
            text,
            self._now,
        )
        self.written.append(written)
        self._rows.append(row)
        return written

    def take_rows(self) -> list[tuple[object, ...]]:
        """The rows to store."""
        rows, self._rows = self._rows, []
        return rows


def change_facts(collection: Collection, change: Change) -> dict[str, Any]:
    """`sequence` orders the events of one record. After an update, `changed` names the changed
    fields and `previous` has their old values, without long texts and documents. `restored`: the
    record came back from the trash."""
    if change.old is None or change.new is None:
        restored = {"restored": True} if change.is_restored else {}
        return {"sequence": change.record["version"] + (change.new is None), **restored}
    reported, replaced = collection.reported_fields, change.replaced
    changed = [name for name in replaced if name in reported]
    return {
        "sequence": change.new["version"],
        "changed": changed,
        "previous": {name: replaced[name] for name in changed if has_short_values(reported[name])},
    }
