"""Validates what a caller sends against a collection's fields, for every face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from masthead.base import ids
from masthead.base.caller import Caller
from masthead.base.errors import Forbidden, Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.engine.records.access import Action, access_of, allow
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import REQUIRED, Access, Field, FieldError
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.fields.values import Number


class Add(msgspec.Struct, frozen=True):
    """`{"price+": 3}` or `{"tags+": "news"}`: a change relative to what is stored."""

    value: Any
    at_start: bool = False
    """`{"+tags": "news"}`: before the others."""


class Remove(msgspec.Struct, frozen=True):
    value: Any


_RELATIVE = (Add, Remove)


class CheckedValues(dict[str, Any]):
    """Values of a collection's fields that their face has checked and parsed, as `Body.read` does.
    The engine takes them as they are. A copy (`{**values, …}`) loses the type, and is checked."""

    __slots__ = ("collection",)

    def __init__(self, collection: Collection) -> None:
        super().__init__()
        self.collection = collection


class NewRecord(NamedTuple):
    """A record to be created, checked before a transaction holds the write lock: access is
    granted, every field is valid and defaults are filled in."""

    id: str
    """The client's choice, or ''."""
    fields: Record
    named: frozenset[str]
    """The fields that were given."""

    @classmethod
    def checked(cls, caller: Caller, collection: Collection, given: Mapping[str, Any]) -> NewRecord:
        allow(caller, collection, Action.CREATE)
        return cls(chosen_id(given), *check_new(collection, given, access_of(caller)))

    @classmethod
    def of(cls, collection: Collection, values: Mapping[str, Any]) -> NewRecord:
        """A record of the service's own: its values are those of a valid record."""
        return cls("", {**collection.default_values(), **values}, frozenset(values))


def chosen_id(given: Mapping[str, Any]) -> str:
    """The id that the client gave, or ''."""
    chosen = given.get("id")
    if chosen in (None, ""):
        return ""
    if not isinstance(chosen, str) or not ids.is_id(chosen):
        problem = Problem("validation_invalid_format", "Must be 15 characters of a-z and 0-9.")
        raise Invalid({"id": problem})
    return chosen


def check_new(
    collection: Collection, given: Mapping[str, Any], access: Access
) -> tuple[Record, frozenset[str]]:
    """All declared fields of a new record with defaults filled in, and the names of those given."""
    record = collection.default_values()
    is_checked = isinstance(given, CheckedValues) and given.collection is collection
    problems: dict[str, Problem] = {}
    named: set[str] = set()
    for name, value in given.items():
        if name not in record:
            continue
        field = collection.by_name[name]
        if field.write > access and _is_ignored(field, value, record[name]):
            continue
        record[name] = value if is_checked else _checked(field, value, None, problems)
        named.add(name)
    for field in collection.required_fields:
        if field.name not in named and field.is_empty(record[field.name]):
            problems[field.name] = REQUIRED
    if problems:
        raise Invalid(problems)
    return record, frozenset(named)


def check_changes(
    collection: Collection, given: Mapping[str, Any], access: Access, old: Record
) -> Record:
    """Only the fields that were given, checked; unknown names are ignored."""
    is_checked = isinstance(given, CheckedValues) and given.collection is collection
    problems: dict[str, Problem] = {}
    changes: Record = {}
    for name, value in given.items():
        field = collection.by_name.get(name)
        if field is None or (field.write > access and _is_ignored(field, value, old[name])):
            continue
        changes[name] = value if is_checked else _checked(field, value, old, problems)
        if field.immutable and changes[name] != old[name]:
            problems[name] = _IMMUTABLE
    if problems:
        raise Invalid(problems)
    return changes


_WHO = {
    Access.MEMBER: "A member",
    Access.CONTRIBUTOR: "The staff of the site",
    Access.AUTHOR: "An author, an editor or an owner of the site",
    Access.EDITOR: "An editor or an owner of the site",
    Access.ADMIN: "An owner of the site",
    Access.PLATFORM: "An operator of the service",
}
_IMMUTABLE = Problem("validation_immutable", staff_words("Can't be changed."))
_NOT_RELATIVE = Problem("validation_invalid_modifier", "Can't be changed by + or -.")


def _is_ignored(field: Field, value: Any, current: Any) -> bool:
    """For a field that the caller may not set. Clients send whole records back: so fields that only
    the engine sets are ignored, and others while their value is unchanged."""
    if field.write is Access.ENGINE or value == current or (not value and not current):
        return True
    raise Forbidden(f"You can't set {field.name}. {_WHO[field.write]} can.")


def _checked(field: Field, value: Any, old: Record | None, problems: dict[str, Problem]) -> Any:
    try:
        if isinstance(value, _RELATIVE):
            value = _applied(field, value, old[field.name] if old else field.empty())
        if isinstance(field, Slug) and value in (None, ""):
            return ""
        return field.check(value)
    except FieldError as error:
        problems[field.name] = error.problem
        return value


def _applied(field: Field, change: Add | Remove, current: Any) -> Any:
    if isinstance(field, Number):
        amount = field.check(field.coerce(change.value)) or 0
        return (current or 0) + (amount if isinstance(change, Add) else -amount)
    if isinstance(field, TextList):
        items = change.value if isinstance(change.value, list) else [change.value]
        if isinstance(change, Add):
            return [*items, *current] if change.at_start else [*current, *items]
        return [item for item in current if item not in items]
    raise FieldError(_NOT_RELATIVE)
