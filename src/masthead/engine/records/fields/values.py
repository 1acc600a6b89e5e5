"""Fields that hold one small value: numbers, flags, choices and instants."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import Column, text

from masthead.base import clock
from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import Decoder, Field, refuse
from masthead.storage import dialects

LARGEST = 2**53 - 1
"""Whole numbers beyond this lose digits in JavaScript, so no client could round-trip them."""


class Number(Field, frozen=True, kw_only=True):
    whole: bool = True
    min: int | None = None
    max: int | None = None
    nullable: bool = False
    default: int | float | None = 0

    kind: ClassVar[str] = "number"

    def column(self) -> Column[Any]:
        kind = dialects.Integer() if self.whole else dialects.Real()
        if self.nullable:
            return Column(self.name, kind, nullable=True)
        return Column(self.name, kind, nullable=False, server_default=text("0"))

    def empty(self) -> Any:
        return None if self.nullable else 0

    def default_value(self) -> Any:
        return self.empty() if self.nullable and not self.default else self.default

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not value.strip():
            return self.empty()
        try:
            return int(value)
        except ValueError:
            pass
        try:
            return float(value)
        except ValueError:
            return value

    def parse(self, value: Any) -> int | float:
        number = self._number(value)
        if self.min is not None and number < self.min:
            raise refuse(
                "validation_min_number_constraint",
                staff_words("Must be greater or equal than %(min)s.", min=self.min),
                min=self.min,
            )
        ceiling = LARGEST if self.max is None else self.max
        if number > ceiling or number < -LARGEST:
            raise refuse(
                "validation_max_number_constraint",
                staff_words("Must be less or equal than %(max)s.", max=ceiling),
                max=ceiling,
            )
        return number

    def _number(self, value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("validation_not_a_number", _NO_NUMBER)
        if isinstance(value, float) and not math.isfinite(value):
            raise refuse("validation_not_a_number", _NO_NUMBER)
        if self.whole:
            if value != int(value):
                raise refuse(
                    "validation_only_int_constraint", staff_words("Must be a whole number.")
                )
            return int(value)
        return float(value)


class Flag(Field, frozen=True, kw_only=True):
    default: bool = False

    kind: ClassVar[str] = "flag"
    decode: ClassVar[Decoder | None] = bool
    present: ClassVar[Decoder | None] = bool

    def column(self) -> Column[Any]:
        return Column(self.name, dialects.Flag(), nullable=False, server_default=text("false"))

    def empty(self) -> bool:
        return False

    def default_value(self) -> bool:
        return self.default

    def is_empty(self, value: Any) -> bool:
        # A required flag may be false.
        return False

    def coerce(self, value: Any) -> Any:
        if isinstance(value, str):
            return _FLAG_WORDS.get(value.strip().lower(), value)
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        return value

    def parse(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse("validation_invalid_type", "Must be true or false.")
        return value


_FLAG_WORDS = {
    "true": True,
    "1": True,
    "on": True,
    "false": False,
    "0": False,
    "off": False,
    "": False,
}


class Select(Field, frozen=True, kw_only=True):
    values: tuple[str, ...]
    default: str = ""

    kind: ClassVar[str] = "text"

    def column(self) -> Column[Any]:
        return Column(
            self.name, dialects.Text(), nullable=False, server_default=text(f"'{self.default}'")
        )

    def default_value(self) -> str:
        return self.default

    def check(self, value: Any) -> Any:
        # With a default the field is never empty.
        if (value is None or value == "") and self.default:
            return self.default
        return super().check(value)

    def parse(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.values:
            shown = value if isinstance(value, str) and len(value) <= 40 else ""
            names = ", ".join(self.values)
            raise refuse(
                "validation_invalid_value",
                staff_words(
                    "Invalid value %(value)s. Must be one of: %(names)s.", value=shown, names=names
                )
                if shown
                else staff_words("Must be one of: %(names)s.", names=names),
            )
        return value


class Date(Field, frozen=True, kw_only=True):
    """An instant as fixed-width UTC text, in the database and on the wire."""

    kind: ClassVar[str] = "date"

    def column(self) -> Column[Any]:
        return Column(self.name, dialects.Text(), nullable=False, server_default=text("''"))

    def parse(self, value: Any) -> str:
        moment = read_moment(value) if isinstance(value, str) else None
        if moment is None:
            raise refuse(
                "validation_invalid_date",
                staff_words("Must be a date such as 2026-11-14T09:30:00.123Z."),
            )
        return moment


_NO_NUMBER = staff_words("Must be a number.")
_DATE_SHAPE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?\Z"
)


def read_moment(written: str) -> str | None:
    """Normalizes ISO 8601 with `T` or a blank and any offset (none is UTC); None if invalid."""
    written = written.strip()
    if not _DATE_SHAPE.match(written):
        return None
    try:
        moment = datetime.fromisoformat(written.replace(",", ".").replace(" ", "T", 1).upper())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return clock.to_text(moment)
    except (ValueError, OverflowError):
        return None
