"""Writes the items of an export in batches, each in one transaction: what is the same for authors,
members and comments. Posts have their own module, because a batch of them may be split."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final, Generic, TypeVar

from msgspec import Struct, field

from masthead.base.errors import Invalid
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.report import Outcome
from masthead.faces.importers.source import Skipped
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.previous_imports import Item

UNCHANGED: Final = "unchanged since the last import"
EDITED: Final = "edited here since the last import"
DELETED: Final = "deleted here since the last import"
SHOWN_CHARACTERS: Final = 200
"""Characters of a title or an address in a report."""

SaveProgress = Callable[[Unit, Sequence[Outcome]], Awaitable[None]]
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

    async def preview(self, entries: Sequence[Given | Skipped]) -> list[Outcome]:
        """The outcomes that `write` would have, without writing."""
        state = await self._load(_included(entries), None)
        return [
            outcome_of_skipped(each) if isinstance(each, Skipped) else self._preview(each, state)
            for each in entries
        ]

    async def write(
        self, entries: Sequence[Given | Skipped], save_progress: SaveProgress
    ) -> list[Outcome]:
        destination = self._destination
        async with destination.unit() as unit:
            state = await self._load(_included(entries), unit)
            outcomes = [
                outcome_of_skipped(each)
                if isinstance(each, Skipped)
                else await self._write(unit, each, state)
                for each in entries
            ]
            await destination.previous.save(unit, destination.namespace, state.new_items)
            await save_progress(unit, outcomes)
        return outcomes

    @abstractmethod
    async def _load(self, items: Sequence[Given], unit: Unit | None) -> State: ...

    @abstractmethod
    def _preview(self, item: Given, state: State) -> Outcome: ...

    @abstractmethod
    async def _write(self, unit: Unit, item: Given, state: State) -> Outcome: ...


def _included(entries: Sequence[Given | Skipped]) -> list[Given]:
    return [each for each in entries if not isinstance(each, Skipped)]


def outcome_of_skipped(entry: Skipped) -> Outcome:
    title, source_id = entry.title[:SHOWN_CHARACTERS], entry.source_id
    if entry.what == "member":
        # Without the address: the report is stored, and an erasure does not search it.
        title, source_id = "", "" if "@" in source_id else source_id
    return Outcome(entry.what, source_id, "skipped", title, entry.reason)


def reason_of(error: Exception) -> str:
    if isinstance(error, Invalid):
        return " ".join(f"{name}: {each.message}" for name, each in error.problems.items())
    return f"It could not be stored ({type(error).__name__})."
