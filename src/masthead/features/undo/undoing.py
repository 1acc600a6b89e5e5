"""Undoes a change of many records: each gets its old values back, or comes back from the trash.

The steps are stored in the transactions of the change, so a crash loses none. An undo deletes them
in its own transactions: it can be interrupted and repeated, and two at once do each step once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller
from masthead.base.errors import Conflict, NotFound, WrongState
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.undo.collection import undo_steps

LIFETIME: Final = timedelta(hours=1)
MOST_BATCHES: Final = 1_000


class Steps:
    """Gathers what one request changes."""

    def __init__(self, caller: Caller, collection: Collection, fields: tuple[str, ...]) -> None:
        """`fields` are those that the change may touch and the undo sets back."""
        self.batch = ids.new_id()
        self.count = 0
        self._account_id = caller.id
        self._collection = collection
        self._fields = fields
        self._steps: list[Record] = []

    def note_change(self, old: Record, new: Record) -> bool:
        """Whether there is something to undo."""
        if old["version"] == new["version"]:
            return False
        was = {name: old[name] for name in self._fields if old[name] != new[name]}
        self._add({"id": new["id"], "version": new["version"], "was": was})
        return True

    def note_deletion(self, record: Record) -> None:
        self._add({"id": record["id"], "deleted": record["version"]})

    def _add(self, step: Record) -> None:
        self._steps.append(step)
        self.count += 1

    def save(self, unit: Unit) -> None:
        """In each transaction of the change, at its end."""
        steps, self._steps = self._steps, []
        if not steps:
            return
        until = clock.to_text(clock.from_text(unit.now) + LIFETIME)
        values = {
            "batch": self.batch,
            "account_id": self._account_id,
            "subject": self._collection.name,
            "steps": steps,
            "expires_at": until,
        }
        unit.append(undo_steps, values)


class Undone(msgspec.Struct):
    subject: str
    count: int = 0
    left: list[Record] = msgspec.field(default_factory=list)
    """Records that were changed since."""
    gone: int = 0
    """Records that are deleted now."""


async def undo(records: Records, caller: Caller, batch: str) -> Undone | None:
    """None if there is nothing to undo: it is undone already, its hour is over, or another account
    made the change."""
    assert caller.tenant_id is not None
    wanted = {"batch": batch, "account_id": caller.id}
    found = await records.find(undo_steps, wanted, tenant_id=caller.tenant_id, limit=MOST_BATCHES)
    now = clock.to_text(records.clock())
    stored = [each for each in found if each["expires_at"] > now]
    if not stored:
        return None
    undone = Undone(stored[0]["subject"])
    for each in stored:
        async with records.unit(caller) as unit:
            await _undo_some(unit, each["id"], undone)
    return undone


async def _undo_some(unit: Unit, row_id: str, undone: Undone) -> None:
    unit.refuse_if_read_only()
    # Read again under the lock: another request may have undone it.
    for row in await unit.find(undo_steps, {"id": row_id}, limit=1):
        collection = unit.registry[row["subject"]]
        for step in row["steps"]:
            if "deleted" in step:
                await _restore(unit, step, undone)
            else:
                await _set_back(unit, collection, step, undone)
        await unit.by_service().delete(undo_steps, row_id)


async def _restore(unit: Unit, step: Record, undone: Undone) -> None:
    try:
        await unit.restore(step["id"])
    except (NotFound, WrongState):
        undone.gone += 1
    else:
        undone.count += 1


async def _set_back(unit: Unit, collection: Collection, step: Record, undone: Undone) -> None:
    found = await unit.find_one(collection, {"id": step["id"]})
    if not found:
        undone.gone += 1
        return
    was: dict[str, Any] = step["was"]
    if "" < was.get("scheduled_for", "") <= unit.now:
        # Its time has passed meanwhile: an undo must not publish it.
        was = {**was, "scheduled_for": ""}
    try:
        await unit.update(collection, step["id"], {}, stamped=was, expected_version=step["version"])
    except (Conflict, NotFound):
        undone.left.append(found)
    else:
        undone.count += 1
