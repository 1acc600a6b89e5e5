"""The arguments and results of a collection's hooks: a record before and after a change, and the
events, jobs, copies and counts that follow from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec

from masthead.base.caller import Caller

Record = dict[str, Any]


class Site(msgspec.Struct, frozen=True):
    """The tenant's settings that writes depend on."""

    read_only: bool = False
    slug: str = ""
    settings: Record = msgspec.field(default_factory=dict)
    """Those that `hooks_read` of their collection names."""


class PreparedTexts:
    """Values that were derived before the transaction, so that others do not wait for it."""

    __slots__ = ("documents", "texts")

    def __init__(self) -> None:
        self.documents: list[tuple[Any, str | None]] = []
        """Documents of an editor, and their HTML."""
        self.texts: dict[str, str] = {}
        """Texts, and what readers see of them."""

    def add(self, other: PreparedTexts) -> None:
        self.documents += other.documents
        self.texts.update(other.texts)


NOTHING_PREPARED = PreparedTexts()


class Rendering(msgspec.Struct, frozen=True):
    """The version of a text that readers see, made when the text is saved."""

    of: str
    into: str
    """The field for it. Empty if readers see the text as it was sent."""
    made_by: str
    """The field for the number of the rules that made it."""
    rules: int
    """The number of today's rules."""
    prepare: Callable[[Mapping[str, Any]], Awaitable[PreparedTexts]]
    """Renders the texts among the given values. Raises `Invalid` for a text beyond the limits."""
    make: Callable[[str], Awaitable[str]]
    """Renders one text. Raises `Invalid`."""
    make_anyway: Callable[[Sequence[str]], Awaitable[list[str]]]
    """Renders texts that were stored before these rules, whatever they are."""

    def stored(self, text: str, rendered: str) -> Record:
        # A text of which nothing is left is a blank: an empty field says that it is as it was sent.
        shown = "" if rendered == text else rendered or " "
        return {self.into: shown, self.made_by: self.rules}


class Save(NamedTuple):
    """The argument of a `before_save` hook: the record before and after the change."""

    old: Record | None
    new: Record
    given: frozenset[str]
    """The names of the fields that the caller gave."""
    now: str
    site: Site
    caller: Caller
    prepared: PreparedTexts = NOTHING_PREPARED

    def with_stamps(self, stamps: Mapping[str, Any]) -> Save:
        old, new, given, now, site, caller, prepared = self
        return Save(old, {**new, **stamps}, given, now, site, caller, prepared)


class Change(msgspec.Struct, frozen=True, dict=True):
    """A create (`old` is None), an update, or a delete (`new` is None)."""

    old: Record | None
    new: Record | None
    is_restored: bool = False
    """A create that brings a deleted record back."""

    @property
    def record(self) -> Record:
        record = self.new if self.new is not None else self.old
        assert record is not None
        return record

    @cached_property
    def replaced(self) -> Record:
        """The fields that an update has changed, with their old values. Found once: an update asks
        some ten times."""
        old, new = self.old, self.new
        if old is None or new is None:
            return {}
        return {name: was for name, was in old.items() if new[name] != was}

    def touches(self, names: Iterable[str]) -> bool:
        """A create or a delete, or an update of one of these fields."""
        if self.old is None or self.new is None:
            return True
        return not self.replaced.keys().isdisjoint(names)

    def became(self, name: str, value: Any) -> bool:
        """The field has the value now and did not have it before the change."""
        if self.new is None or self.new[name] != value:
            return False
        return self.old is None or self.old[name] != value

    def left(self, name: str, value: Any) -> bool:
        """An update has replaced the value of the field."""
        return bool(
            self.old is not None
            and self.new is not None
            and self.old[name] == value
            and self.new[name] != value
        )


class Later(NamedTuple):
    """A job that a change needs, written in its transaction."""

    kind: str
    payload: Mapping[str, Any]
    run_at: str = ""
    """Empty is at once."""


class Snapshot(NamedTuple):
    """A record of another collection that a change writes along, in its transaction."""

    collection: str
    values: Mapping[str, Any]
    by: str
    """The field that says to what the snapshot belongs."""
    newest: int = 0
    """How many with the same value of `by` stay; older ones are deleted. 0: all stay."""
    names_caller: bool = False
    """It also has `changed_by` and `account_id`: who made the change."""


class Listing(NamedTuple):
    """A row that puts a record into an ordered list: by a value of a field, at a position."""

    name: str
    value: str
    position: str


class Relisted(NamedTuple):
    """The ordered lists that a change takes its record out of, and those that it puts it into."""

    left: Set[Listing]
    joined: Set[Listing]


class Follower(Protocol):
    """Another part of the service, for which the changes of a collection mean something: it writes
    along at the end of their unit, in its transaction."""

    @property
    def note(self) -> Callable[[Change, Relisted], Iterable[Any]]:
        """Makes notes of a change and of its lists for `settle`: mostly none."""

    @property
    def settle(self) -> Callable[[Any, Sequence[Any]], Awaitable[None]]:
        """Called once with the unit and all notes of the followers that share it, if there are any.
        Its own writes may cause further notes."""


class Tally(NamedTuple):
    """A change's addition to the count of a day."""

    metric: str
    day: str
    """UTC, as 2026-11-14."""
    subject: str = ""
    """Whose count it is; empty for the tenant's own."""
    number: int = 1
