"""Validates what a caller sends against a collection's fields, for every face."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from masthead.errors import Forbidden, Invalid, Problem
from masthead.records.collection import Collection, Record
from masthead.records.fields.base import REQUIRED, Access, Field, FieldError
from masthead.records.fields.documents import TextList
from masthead.records.fields.text import Slug
from masthead.records.fields.values import Number


@dataclass(frozen=True, slots=True)
class Add:
    """`{"price+": 3}` or `{"tags+": "news"}`: a change relative to what is stored."""

    value: Any


@dataclass(frozen=True, slots=True)
class Remove:
    value: Any


_RELATIVE = (Add, Remove)


class Parsed(dict[str, Any]):
    """Values that their fields have parsed already. A copy (`{**values, …}`) loses the type, and is
    parsed again."""

    __slots__ = ("collection",)

    def __init__(self, collection: Collection) -> None:
        super().__init__()
        self.collection = collection


def check_new(
    collection: Collection, given: Mapping[str, Any], access: Access
) -> tuple[Record, frozenset[str]]:
    """All declared fields of a new record with defaults filled in, and the names of those given."""
    checker = _Checker(collection, access)
    is_parsed = isinstance(given, Parsed) and given.collection is collection
    record: Record = {}
    named: list[str] = []
    for field in collection.fields:
        name = field.name
        if name in given and checker.may_set(field, given[name], field.default_value):
            if is_parsed and given[name] and not field.required:
                record[name] = given[name]
            else:
                record[name] = checker.check(field, given[name], field.empty)
            named.append(name)
        else:
            record[name] = field.default_value()
            if field.required:
                checker.require(field, record)
    checker.finish()
    return record, frozenset(named)


def check_changes(
    collection: Collection, given: Mapping[str, Any], access: Access, old: Record
) -> Record:
    """Only the fields that were given, checked; unknown names are ignored."""
    checker = _Checker(collection, access)
    changes: Record = {}
    for name, value in given.items():
        field = collection.by_name.get(name)
        if field is None or not checker.may_set(field, value, partial(old.get, name)):
            continue
        changes[name] = checker.check(field, value, partial(old.get, name))
        if field.immutable and changes[name] != old[name]:
            checker.problems[name] = _IMMUTABLE
    checker.finish()
    return changes


_WHO = {
    Access.MEMBER: "A member",
    Access.AUTHOR: "The staff of the site",
    Access.EDITOR: "An editor or an owner of the site",
    Access.ADMIN: "An owner of the site",
    Access.PLATFORM: "An operator of the service",
}
_IMMUTABLE = Problem("validation_immutable", "Can't be changed.")
_NOT_RELATIVE = Problem("validation_invalid_modifier", "Can't be changed by + or -.")


class _Checker:
    def __init__(self, collection: Collection, access: Access) -> None:
        self.collection = collection
        self.access = access
        self.problems: dict[str, Problem] = {}

    def may_set(self, field: Field, value: Any, read_current: Callable[[], Any]) -> bool:
        """Clients send whole records back. So fields that only the engine sets are ignored, and
        fields that the caller may not set are ignored while their value is unchanged."""
        if field.write <= self.access:
            return True
        current = read_current()
        if field.write is Access.ENGINE or value == current or (not value and not current):
            return False
        raise Forbidden(f"You can't set {field.name}. {_WHO[field.write]} can.")

    def check(self, field: Field, value: Any, read_current: Callable[[], Any]) -> Any:
        try:
            if isinstance(value, _RELATIVE):
                value = _applied(field, value, read_current())
            if isinstance(field, Slug) and value in (None, ""):
                return ""
            return field.check(value)
        except FieldError as error:
            self.problems[field.name] = error.problem
            return value

    def require(self, field: Field, record: Record) -> None:
        # The engine fills its own fields in later.
        if field.write is not Access.ENGINE and field.is_empty(record[field.name]):
            self.problems[field.name] = REQUIRED

    def finish(self) -> None:
        if self.problems:
            raise Invalid(self.problems)


def _applied(field: Field, change: Add | Remove, current: Any) -> Any:
    if isinstance(field, Number):
        amount = field.check(field.coerce(change.value)) or 0
        return (current or 0) + (amount if isinstance(change, Add) else -amount)
    if isinstance(field, TextList):
        items = change.value if isinstance(change.value, list) else [change.value]
        if isinstance(change, Add):
            return [*current, *items]
        return [item for item in current if item not in items]
    raise FieldError(_NOT_RELATIVE)
