"""What every field of a collection has in common: a column, limits, and who may see or set it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from sqlalchemy import Column

from masthead.errors import Problem


class Access(IntEnum):
    """How close a caller stands to the data; a field names the least that may read or set it."""

    PUBLIC = 0
    MEMBER = 1
    AUTHOR = 2
    EDITOR = 3
    ADMIN = 4
    PLATFORM = 5
    ENGINE = 6
    """Nobody outside the engine."""


class FieldError(Exception):
    """A value breaks the field's rule; the engine collects one per field."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refuse(code: str, message: str, **params: object) -> FieldError:
    return FieldError(Problem(code, message, dict(params)))


REQUIRED = Problem("validation_required", "Cannot be blank.")

Decoder = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Field:
    """One declared field. Subclasses say how a value is checked, stored and shown."""

    name: str
    required: bool = False
    read: Access = Access.PUBLIC
    write: Access = Access.AUTHOR
    """Of the staff, that is, as far as the collection's rules let them change the record at all."""
    personal: bool = False
    """Holds personal data: belongs into a person's export and goes with an erasure."""
    immutable: bool = False
    """Set at creation and never again."""
    unique: bool = False
    """No two records of a tenant hold the same value (empty ones aside)."""
    help: str = ""

    @property
    def is_long(self) -> bool:
        """May hold so much that answers have to count it."""
        return False

    kind: ClassVar[str] = ""
    """How the filter language compares it: text, number, flag, date, json, list or relation."""

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
        """Checks a value of the right JSON type; what is stored, or FieldError."""
        raise NotImplementedError

    def coerce(self, value: Any) -> Any:
        """Bends what a form or a lenient client sends towards the JSON type that `parse` takes."""
        return value

    def encode(self, value: Any) -> Any:
        """From the engine's value to the database's."""
        return value

    decode: ClassVar[Decoder | None] = None
    """From the database's value to the engine's; None where they are the same."""

    present: ClassVar[Decoder | None] = None
    """From the database's value to what a JSON answer holds; None where they are the same."""

    def check(self, value: Any) -> Any:
        """The whole rule: null is empty, empty is refused when required, the rest is parsed."""
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
