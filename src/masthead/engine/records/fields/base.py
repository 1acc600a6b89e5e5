"""The base class of fields: column, limits, and who may read or set the value."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, ClassVar

import msgspec
from sqlalchemy import Column

from masthead.base.errors import Problem
from masthead.base.languages.words import words


class Access(IntEnum):
    """Levels of access. A field names the lowest level that may read or set it."""

    PUBLIC = 0
    MEMBER = 1
    SITE = 2
    """The reader's site, which shows the fields that a collection's site rules name."""
    CONTRIBUTOR = 3
    AUTHOR = 4
    EDITOR = 5
    ADMIN = 6
    PLATFORM = 7
    ENGINE = 8
    """Only the engine."""


class FieldError(Exception):
    """An invalid value. The engine collects one per field."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refuse(code: str, message: str, **params: object) -> FieldError:
    return FieldError(Problem(code, message, dict(params)))


REQUIRED = Problem("validation_required", words("Cannot be blank."))

Decoder = Callable[[Any], Any]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One declared field. Subclasses define how a value is validated, stored and shown."""

    name: str
    required: bool = False
    read: Access = Access.PUBLIC
    write: Access = Access.CONTRIBUTOR
    """The collection's rules for changing the record apply in addition."""
    personal: bool = False
    """Personal data: part of a person's export, and removed by an erasure."""
    immutable: bool = False
    """Can only be set at creation."""
    unique: bool = False
    """No two records of a tenant have the same value, except the empty one."""
    help: str = ""

    @property
    def is_long(self) -> bool:
        """Counts towards the size limit of answers."""
        return False

    kind: ClassVar[str] = ""
    """How the filter language compares it: text, address, number, flag, date, json, list or
    relation."""

    def column(self) -> Column[Any]:
        raise NotImplementedError

    def empty(self) -> Any:
        """The value of a field that was never set."""
        return ""

    def default_value(self) -> Any:
        return self.empty()

    def is_empty(self, value: Any) -> bool:
        return bool(value == self.empty())

    def parse(self, value: Any) -> Any:
        """Validates a non-empty value; returns what to store or raises `FieldError`."""
        raise NotImplementedError

    def coerce(self, value: Any) -> Any:
        """Converts what a form or a lenient client sends to the JSON type that `parse` takes."""
        return value

    def encode(self, value: Any) -> Any:
        """From the engine's value to the database's."""
        return value

    decode: ClassVar[Decoder | None] = None
    """From the database's value to the engine's; None where they are the same."""

    present: ClassVar[Decoder | None] = None
    """From the database's value to what a JSON answer holds; None where they are the same."""

    def check(self, value: Any) -> Any:
        """Null is empty, empty is refused if required, anything else is parsed."""
        if value is None:
            value = self.empty()
        if self.is_empty(value):
            if self.required:
                raise FieldError(REQUIRED)
            return value
        parsed = self.parse(value)
        if self.required and self.is_empty(parsed):
            raise FieldError(REQUIRED)
        return parsed

    def check_stored(self, value: Any) -> None:
        """Raises `FieldError` if no record can have this value, not even one of the service's."""
        self.check(value)
