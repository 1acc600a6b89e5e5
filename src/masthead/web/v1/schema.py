"""What v1 takes and answers: named selections of a collection's fields.

A view says which fields an answer shows, a body which fields a request may set. Types and limits
stay with the fields, so that the API, its description and the engine can't drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from masthead.errors import Invalid, Problem
from masthead.records.collection import Collection, Record
from masthead.records.fields.base import REQUIRED, FieldError
from masthead.records.write.validation import Parsed


@dataclass(frozen=True)
class View:
    """The fields of one answer, all of them always there; empty nullable ones are null."""

    name: str
    collection: Collection
    fields: tuple[str, ...]
    nullable: frozenset[str] = frozenset()
    computed: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Fields that are shown otherwise than stored, such as masked addresses."""
    help: str = ""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.fields)

    def of(self, record: Mapping[str, Any]) -> Record:
        shown = {name: record[name] for name in self.fields}
        for name in self.nullable:
            if shown[name] == "":
                shown[name] = None
        for name, compute in self.computed.items():
            shown[name] = compute(shown[name])
        return shown


NULL = Problem("validation_required", "Cannot be null. Leave the field out, or give it a value.")


@dataclass(frozen=True)
class Body:
    """The fields a request may set. Unknown ones are ignored: newer clients may talk to us."""

    name: str
    collection: Collection
    fields: tuple[str, ...]
    required: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()
    partial: bool = False
    """For changes: nothing is required, only what is named changes."""
    switches: tuple[str, ...] = ()
    """Further true-or-false values that are no fields but ask for something to be done."""
    only_these: bool = False
    """Anything but the named fields is refused, where silence would mislead."""
    help: str = ""

    def read(self, given: Mapping[str, Any]) -> Parsed:
        """The checked values of the fields that were given, or Invalid with every problem."""
        values = Parsed(self.collection)
        problems: dict[str, Problem] = {}
        for name, parse in self._parsers:
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
                    values[name] = parse(value)
                except FieldError as error:
                    problems[name] = error.problem
        for name in self.switches:
            if name in given:
                values[name] = given[name]
                if not isinstance(given[name], bool):
                    problems[name] = _NOT_A_FLAG
        if self.only_these:
            problems |= {name: self._not_here for name in given if name not in self.fields}
        if problems:
            raise Invalid(problems)
        return values

    @cached_property
    def _not_here(self) -> Problem:
        settable = ", ".join(self.fields)
        return Problem("validation_not_settable", f"Can't be set here. Use one of {settable}.")

    @cached_property
    def _parsers(self) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
        return tuple((name, self.collection.by_name[name].parse) for name in self.fields)


_NOT_A_FLAG = Problem("validation_invalid_type", "Must be true or false.")
