"""A record to be created, validated before a transaction holds the write lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from masthead import ids
from masthead.caller import Caller
from masthead.errors import Invalid, Problem
from masthead.records.access import Action, allow
from masthead.records.collection import Collection, Record
from masthead.records.read.query import access_of
from masthead.records.write.validation import check_new


class NewRecord(NamedTuple):
    """Access is checked, every field is valid and defaults are filled in."""

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
        defaults = {each.name: each.default_value() for each in collection.fields}
        return cls("", {**defaults, **values}, frozenset(values))


def chosen_id(given: Mapping[str, Any]) -> str:
    """The id that the client gave, or ''."""
    chosen = given.get("id")
    if chosen in (None, ""):
        return ""
    if not isinstance(chosen, str) or not ids.is_id(chosen):
        problem = Problem("validation_invalid_format", "Must be 15 characters of a-z and 0-9.")
        raise Invalid({"id": problem})
    return chosen
