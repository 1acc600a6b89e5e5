"""Writes the items of an export in batches, each in one transaction or, where that fails, each item
in its own.

Whether an item is created, updated or skipped is decided inside the transaction. So an interrupted
run can be repeated, and two imports may run at the same time. A dry run takes the same steps with a
unit that writes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import ClassVar, Final, Generic, TypeVar

from msgspec import Struct, field

from masthead.base.errors import Invalid, Unavailable
from masthead.base.languages.words import staff_marked, staff_words
from masthead.base.logs import log
from masthead.engine.jobs.runner import Stopped
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Record
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import Skipped
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item

CREATE: Final = "create"
UPDATE: Final = "update"
UNCHANGED: Final = staff_marked("unchanged since the last import")
EDITED: Final = staff_marked("edited here since the last import")
DELETED: Final = staff_marked("deleted here since the last import")
SHOWN_CHARACTERS: Final = 200
"""Characters of a title or an address in a report."""

SaveProgress = Callable[[AnyUnit, Sequence[Outcome]], Awaitable[None]]
"""Stores the run's report, with the outcomes of the batch, in the batch's transaction."""


class BatchState(Struct, frozen=True, kw_only=True):
    """The state of a batch's items in the database."""

    new_items: dict[str, Item] = field(default_factory=dict)
    """Items that the batch has written, by key."""


Given = TypeVar("Given", bound=Struct)
State = TypeVar("State", bound=BatchState)


class Batches(ABC, Generic[Given, State]):
    is_repeated: ClassVar[bool] = False
    """Whether a resumed run writes the batches again that were counted before."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    async def write(
        self, entries: Sequence[Given | Skipped], save_progress: SaveProgress
    ) -> list[Outcome]:
        try:
            return await self._write_batch(entries, save_progress)
        except (Unavailable, Stopped):
            raise
        # One of the three broad edges, an importer's row: the item that fails the batch is found
        # below, and the others are written without it.
        except Exception:
            log.warning("import.batch_refused", exc_info=True)
        done: list[Outcome] = []
        for entry in entries:
            done += await self._write_single(entry, done, save_progress)
        return done

    async def _write_single(
        self, entry: Given | Skipped, done: Sequence[Outcome], save_progress: SaveProgress
    ) -> list[Outcome]:
        async def save_all(unit: AnyUnit, outcomes: Sequence[Outcome]) -> None:
            await save_progress(unit, [*done, *outcomes])

        try:
            return await self._write_batch([entry], save_all)
        except (Unavailable, Stopped):
            raise
        except Exception as error:
            assert not isinstance(entry, Skipped)
            failed = self._outcome(entry, "failed", reason_of(error))
            log.warning("import.item_refused", source_id=failed.source_id, exc_info=True)
            async with self._destination.unit() as unit:
                await save_all(unit, [failed])
            return [failed]

    async def _write_batch(
        self, entries: Sequence[Given | Skipped], save_progress: SaveProgress
    ) -> list[Outcome]:
        items = [each for each in entries if not isinstance(each, Skipped)]
        async with self._destination.unit(self._prepared(items)) as unit:
            state = await self._load(items, unit)
            async with self._grouped(unit, items):
                outcomes = [
                    outcome_of_skipped(each)
                    if isinstance(each, Skipped)
                    else await self._write(unit, each, state)
                    for each in entries
                ]
            await self._destination.save(unit, state.new_items)
            await save_progress(unit, outcomes)
        self._written(state)
        return outcomes

    @abstractmethod
    async def _load(self, items: Sequence[Given], unit: AnyUnit) -> State: ...

    @abstractmethod
    async def _write(self, unit: AnyUnit, item: Given, state: State) -> Outcome: ...

    @abstractmethod
    def _outcome(self, item: Given, result: Result, reason: str = "") -> Outcome: ...

    def _prepared(self, _: Sequence[Given]) -> PreparedTexts | None:
        return None

    def _grouped(self, _: AnyUnit, __: Sequence[Given]) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def _written(self, state: State) -> None:
        """After the batch is committed."""


def decide(item: Item | None, record: Record | None, *, is_same: Callable[[str], bool]) -> str:
    """CREATE, UPDATE, or the reason to skip what was imported before as this record. `is_same` is
    whether a fingerprint is that of the source."""
    if item is None:
        return CREATE
    if record is None:
        return DELETED
    if is_same(item.fingerprint):
        return UNCHANGED
    return UPDATE if item.record_version == record["version"] else EDITED


def outcome_of_skipped(entry: Skipped) -> Outcome:
    title, source_id = entry.title[:SHOWN_CHARACTERS], entry.source_id
    if entry.what == "member":
        # Without the address: the report is stored, and an erasure does not search it.
        title, source_id = "", "" if "@" in source_id else source_id
    return Outcome(entry.what, source_id, "skipped", title, entry.reason)


def reason_of(error: Exception) -> str:
    if isinstance(error, Invalid):
        return " ".join(
            staff_words("%(field)s: %(problem)s", field=name, problem=each.message)
            for name, each in error.problems.items()
        )
    return staff_words("It could not be stored (%(error)s).", error=type(error).__name__)
