"""The bodies and answers of v1: named selections of a collection's fields.

A view lists the fields of an answer, a body the fields that a request may set. Types and limits are
declared by the fields, so that the API, its description and the engine can't differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from masthead.base.errors import Invalid, Problem
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import REQUIRED, Field, FieldError
from masthead.engine.records.write.validation import CheckedValues


class View(msgspec.Struct, frozen=True, dict=True):
    """The fields of one answer, always all of them but `where_set`; empty nullable ones are
    null."""

    name: str
    collection: Collection
    fields: tuple[str, ...]
    nullable: frozenset[str] = frozenset()
    computed: Mapping[str, Callable[[Any], Any]] = msgspec.field(default_factory=dict)
    """Fields that are not shown as stored, such as masked addresses."""
    where_set: frozenset[str] = frozenset()
    """Flags and lists that are left out where they are false or empty."""
    added: tuple[Field, ...] = ()
    """Fields that no record stores: the handler adds their values."""
    made_of: tuple[str, ...] = ()
    """Stored fields that are read for those."""
    fuller: View | None = None
    """The view that a key with the scope `fuller_scope` gets instead."""
    fuller_scope: str = ""
    help: str = ""

    def for_scopes(self, scopes: frozenset[str]) -> View:
        return self.fuller if self.fuller and self.fuller_scope in scopes else self

    @cached_property
    def names(self) -> frozenset[str]:
        """The stored fields that are read."""
        return frozenset((*self.fields, *self.made_of)) - {each.name for each in self.added}

    @cached_property
    def declared(self) -> tuple[Field, ...]:
        """The declarations of its fields."""
        added = {each.name: each for each in self.added}
        return tuple(added.get(name) or self.collection.by_name[name] for name in self.fields)

    def of(self, record: Mapping[str, Any]) -> Record:
        shown = {name: record[name] for name in self.fields}
        for name in self.nullable:
            if shown[name] == "":
                shown[name] = None
        for name, compute in self.computed.items():
            shown[name] = compute(shown[name])
        for name in self.where_set:
            if not shown[name]:
                del shown[name]
        return shown


NULL = Problem("validation_required", "Cannot be null. Leave the field out, or give it a value.")


Translation = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class Body(msgspec.Struct, frozen=True, dict=True):
    """The fields a request may set. Unknown ones are ignored, for newer clients, and named in the
    answer."""

    name: str
    collection: Collection
    fields: tuple[str, ...]
    required: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()
    partial: bool = False
    """For changes: nothing is required, and only the given fields change."""
    flags: tuple[str, ...] = ()
    """Boolean values that are not fields but request an action."""
    inputs: tuple[Field, ...] = ()
    """Values that are not fields of the collection, or not in this form: they are checked as they
    are, and the handler makes fields of them."""
    replaced: frozenset[str] = frozenset()
    """Those of which `translate` makes fields, before anything is checked."""
    translate: Translation | None = None
    check: Callable[[Mapping[str, Any], datetime], Mapping[str, Problem]] | None = None
    """Problems of what must not be misunderstood, given the whole body and the time."""
    is_optional: bool = False
    """A request without a body is as one with an empty object."""
    rejects_unknown: bool = False
    """Unknown fields are refused, if ignoring them would mislead."""
    help: str = ""

    async def take(self, given: Mapping[str, Any], now: datetime) -> CheckedValues:
        """The whole body of a request, checked here and nowhere else."""
        refused = self.check(given, now) if self.check else {}
        translated = await self.translate(given) if self.translate else given
        return self.read(translated, refused)

    def ignored(self, given: Mapping[str, Any]) -> Iterable[str]:
        """The names that have no effect. They are as many as the caller likes."""
        if self.rejects_unknown or given.keys() <= self._names:
            return ()
        return (name for name in given if name not in self._names)

    def read(
        self, given: Mapping[str, Any], refused: Mapping[str, Problem] | None = None
    ) -> CheckedValues:
        """The checked values of the given fields; raises Invalid with every problem, those that
        are already known included."""
        values = CheckedValues(self.collection)
        problems: dict[str, Problem] = {}
        for name, check in self._checks:
            if name not in given:
                if name in self.required and not self.partial:
                    problems[name] = REQUIRED
                continue
            value = given[name]
            if value is None:
                if name in self.nullable:
                    values[name] = self.collection.by_name[name].empty()
                else:
                    problems[name] = NULL
            elif value == "" and name in self.required:
                problems[name] = REQUIRED
            else:
                try:
                    values[name] = check(value)
                except FieldError as error:
                    problems[name] = error.problem
        for name in self.flags:
            if name in given:
                values[name] = given[name]
                if not isinstance(given[name], bool):
                    problems[name] = _NOT_A_FLAG
        if self.rejects_unknown:
            problems |= {name: self._unknown_field for name in given if name not in self.fields}
        if refused:
            problems |= refused
        if problems:
            raise Invalid(problems)
        return values

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset((*self.fields, *self.flags, *(each.name for each in self.inputs)))

    @cached_property
    def _unknown_field(self) -> Problem:
        settable = ", ".join(self.fields)
        return Problem("validation_not_settable", f"Can't be set here. Use one of {settable}.")

    @cached_property
    def _checks(self) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
        declared = [self.collection.by_name[name] for name in self.fields]
        inputs = [each for each in self.inputs if each.name not in self.replaced]
        fields = [*declared, *inputs]
        # A required field may have an empty value that is no empty text, such as a list.
        return tuple((each.name, each.check if each.required else each.parse) for each in fields)


_NOT_A_FLAG = Problem("validation_invalid_type", "Must be true or false.")
