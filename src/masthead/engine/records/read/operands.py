"""The operands of a comparison: their types, and how a literal becomes a parameter's value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy.sql import ColumnElement

from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import read_moment
from masthead.storage import dialects

LONG_TEXT = 300
"""Characters. A longer field is scanned off the event loop, and without LIKE: on SQLite a LIKE that
nearly matches everywhere takes seconds on a megabyte, all in a single step."""
DOCUMENT = 10_000
"""Characters. A longer field takes a while to read, whatever it is compared with."""

Coerce = Callable[[Any], Any]


class Slot(msgspec.Struct, frozen=True):
    """A parameter that takes the filter's literal at a position."""

    parameter: str
    position: int
    coerce: Coerce


class Operand(msgspec.Struct, frozen=True):
    """`sql` is None for a literal."""

    sql: ColumnElement[Any] | None
    kind: str
    nullable: bool = False
    """The column holds NULL where PocketBase would hold an empty value."""
    may_be_missing: bool = False
    """NULL where a path leads to no record: equals the empty text, and matches no range or
    pattern."""
    is_many: bool = False
    """One value per joined row: the path leads through a back-relation or a list of relations."""
    literal: Any = None
    is_long: bool = False
    number: ColumnElement[Any] | None = None
    string: ColumnElement[Any] | None = None
    """`number` and `string` are the value inside a document by its type: at most one of them is not
    NULL. `sql` is its text."""
    has_own_type: bool = False
    """A text that was computed, such as one in small letters: a number is not read as text beside
    it, but is less than any text."""
    position: int = -1
    """Which of the filter's text and number literals this is; -1 for anything else."""

    @property
    def is_literal(self) -> bool:
        return self.sql is None

    @property
    def has_wildcard(self) -> bool:
        return isinstance(self.literal, str) and dialects.has_wildcard(self.literal)

    @property
    def is_null(self) -> bool:
        return self.is_literal and self.literal is None

    @property
    def is_blank(self) -> bool:
        return self.is_literal and self.literal in (None, "") and self.literal is not False


def is_nullable(field: Field) -> bool:
    return field.kind in ("relation", "json") or bool(getattr(field, "nullable", False))


def is_long(field: Field) -> bool:
    if isinstance(field, Text):
        return field.max > LONG_TEXT
    return field.kind in ("json", "list")


def is_document(field: Field) -> bool:
    return field.kind == "json" or (isinstance(field, Text) and field.max > DOCUMENT)


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # NUL can't be stored, so it can't be found either; PostgreSQL would refuse the parameter.
    return str(value).replace("\x00", "\ufffd")


def as_moment(value: Any) -> str:
    written = as_text(value)
    return read_moment(written) or written


def as_path(value: Any) -> str:
    """The path of an address, whatever its host: the host is not stored."""
    return _ORIGIN.sub("/", as_text(value), count=1)


_ORIGIN = re.compile(r"\Ahttps?://[^/?#]*/", re.IGNORECASE)


def as_pattern(value: Any) -> str:
    return dialects.like_pattern(as_text(value))


def as_contained(value: Any) -> str:
    return dialects.contained_text(as_text(value))


def as_number(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except (ValueError, OverflowError):
        return None
