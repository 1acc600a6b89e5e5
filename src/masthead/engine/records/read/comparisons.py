"""Two operands of a filter and the sign between them as SQL, by what they hold: text, dates,
numbers, flags. Literals become parameters."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.sql import ColumnElement

from masthead.engine.records.read.operands import (
    Coerce,
    Operand,
    Slot,
    as_contained,
    as_moment,
    as_number,
    as_path,
    as_pattern,
    as_text,
)
from masthead.storage import dialects

CAST_TO_TEXT = ("number", "json", "list")


class Comparisons:
    """Those of one statement. Collects their parameters."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.is_slow = False
        """The statement scans long texts or documents."""

    def test(
        self, left: Operand, op: str, right: Operand, *, constant: bool = False
    ) -> ColumnElement[bool]:
        if op not in ("=", "!=") and (left.is_null or right.is_null):
            return sa.false()
        if "value" in (left.kind, right.kind):
            return self._value_test(left, op, right)
        if op in ("=", "!=") and _are_flags(left, right):
            return self._flag_test(left, op, right)
        left, right = _flag_as_digit(left), _flag_as_digit(right)
        if op in ("~", "!~"):
            contains = self._contains(left, right)
            return sa.not_(contains) if op == "!~" else contains
        if "number" in (left.kind, right.kind):
            if _both_may_be_numbers(left, right):
                return self._number_test(left, op, right)
            if left.has_own_type or right.has_own_type:
                return _by_type(left, op, right)
        return self._text_test(left, op, right, constant=constant)

    def _value_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        """With a value inside a document, by its own type. A missing one is NULL."""
        if op in ("~", "!~"):
            return self._value_contains(left, right, negated=op == "!~")
        (a, a_text), (b, b_text) = self._value(left), self._value(right)
        if op in ("=", "!="):
            same = sa.and_(a.is_not_distinct_from(b), a_text.is_not_distinct_from(b_text))
            return sa.not_(same) if op == "!=" else same
        greater, less = (a_text, b), (a, b_text)
        first, second = greater if op in (">", ">=") else less
        # A text is greater than any number.
        by_type = sa.and_(first.is_not(None), second.is_not(None))
        return sa.or_(_compare(a, op, b), _compare(a_text, op, b_text), by_type)

    def _value_contains(
        self, left: Operand, right: Operand, *, negated: bool
    ) -> ColumnElement[bool]:
        contains = self._contains(_flag_as_digit(left), _flag_as_digit(right))
        return sa.not_(contains) if negated else contains

    def _value(self, operand: Operand) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """As a number and as a text, at most one of which is not NULL."""
        no_number, no_text = sa.cast(sa.null(), dialects.Real()), sa.cast(sa.null(), sa.Text())
        if operand.kind == "value":
            assert operand.number is not None
            assert operand.string is not None
            return operand.number, operand.string
        if operand.is_null:
            return no_number, no_text
        if operand.kind in ("number", "flag"):
            return self._number(_flag_as_digit(operand)), no_text
        return no_number, self.text(operand)

    def as_number(self, operand: Operand) -> ColumnElement[Any]:
        """NULL for anything but a number or a boolean."""
        return self._value(operand)[0]

    def _contains(self, left: Operand, right: Operand) -> ColumnElement[bool]:
        self.is_slow |= left.is_long or right.is_long
        text = self.text(left)
        if not left.is_long:
            return dialects.contains_text(text, self._pattern(right))
        if right.is_long or right.has_wildcard:
            return dialects.long_text_like(text, self._pattern(right))
        if right.is_literal:
            return dialects.long_text_contains(
                text, self._parameter(right, as_contained, sa.Text())
            )
        return dialects.long_text_contains(text, self.text(right))

    def _number_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        a, b = self._number(left), self._number(right)
        # `width = null` finds records without a width. A text that is no number equals nothing.
        if op == "=" and (left.is_blank or right.is_blank):
            return a.is_not_distinct_from(b)
        holds = _compare(a, op, b)
        # A text that is no number is greater than any number.
        if right.kind == "text" and right.is_literal and op in ("<", "<="):
            return sa.or_(holds, sa.and_(a.is_not(None), b.is_(None)))
        if left.kind == "text" and left.is_literal and op in (">", ">="):
            return sa.or_(holds, sa.and_(a.is_(None), b.is_not(None)))
        return holds

    def _text_test(
        self, left: Operand, op: str, right: Operand, *, constant: bool
    ) -> ColumnElement[bool]:
        read = as_text
        if "date" in (left.kind, right.kind):
            read = as_moment
        elif "address" in (left.kind, right.kind):
            read = as_path
        if constant and op not in ("=", "~"):
            # A rule's ranges and inequalities (is it due, has it a date) hold for nearly every
            # record. An index on such a column would displace the one that the list needs.
            left, right = _without_index(left), _without_index(right)
        # An empty value can't match here, so the bare column will do, which an index can serve.
        plain = op == "=" and not (left.is_blank or right.is_blank)
        plain = plain and (left.is_literal or right.is_literal)
        if op in ("=", "!=") and not plain:
            left, right = _empty_where_missing(left), _empty_where_missing(right)
        return _compare(self.text(left, read, plain), op, self.text(right, read, plain))

    def _flag_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        a, b = self._flag(left), self._flag(right)
        return a.is_distinct_from(b) if op == "!=" else a.is_not_distinct_from(b)

    def text(
        self, operand: Operand, read: Coerce = as_text, plain: bool = False
    ) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, read, sa.Text())
        assert operand.sql is not None
        sql = operand.sql
        if operand.kind in CAST_TO_TEXT:
            sql = sa.cast(sql, sa.Text())
        return sa.func.coalesce(sql, "") if operand.nullable and not plain else sql

    def _number(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, as_number, dialects.Real())
        assert operand.sql is not None
        return operand.sql

    def _flag(self, operand: Operand) -> ColumnElement[Any]:
        if operand.sql is not None:
            return operand.sql
        return sa.true() if operand.literal else sa.false()

    def _pattern(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, as_pattern, sa.Text())
        text = self.text(operand)
        for special in ("\\", "%", "_"):
            # Only a literal may hold wildcards, not a stored value.
            text = sa.func.replace(text, special, "\\" + special)
        return sa.literal("%").concat(text).concat("%")

    def _parameter(self, operand: Operand, coerce: Coerce, type_: Any) -> ColumnElement[Any]:
        """A literal: a constant in a rule, a slot in a client's filter."""
        if operand.position < 0:
            return sa.cast(sa.literal(coerce(operand.literal), type_), type_)
        name = f"literal_{len(self.slots)}"
        self.slots.append(Slot(name, operand.position, coerce))
        # The cast tells PostgreSQL what the parameter is when both sides are parameters.
        return sa.cast(sa.bindparam(name, required=True, type_=type_), type_)


def _empty_where_missing(operand: Operand) -> Operand:
    return replace(operand, nullable=True) if operand.may_be_missing else operand


def _flag_as_digit(operand: Operand) -> Operand:
    """A boolean as SQLite has it: 1 or 0."""
    if isinstance(operand.literal, bool):
        return replace(operand, literal=int(operand.literal), kind="number")
    if operand.kind != "flag" or operand.sql is None:
        return operand
    digit: ColumnElement[Any] = sa.case(
        (operand.sql.is_(sa.true()), sa.literal_column("1")), else_=sa.literal_column("0")
    )
    return replace(operand, sql=digit, kind="number", nullable=False)


def _are_flags(left: Operand, right: Operand) -> bool:
    """A missing value is false."""
    kinds = {each.kind for each in (left, right) if not each.is_blank}
    return kinds == {"flag"}


def _by_type(left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
    """A text and a number are never the same, and the text is greater."""
    if op == "!=":
        return sa.true()
    text, holds = (left, (">", ">=")) if right.kind == "number" else (right, ("<", "<="))
    if op not in holds or text.sql is None:
        return sa.false()
    return text.sql.is_not(None)


def _without_index(operand: Operand) -> Operand:
    if operand.sql is None:
        return operand
    return replace(operand, sql=dialects.without_index(operand.sql))


def _compare(left: ColumnElement[Any], op: str, right: ColumnElement[Any]) -> ColumnElement[bool]:
    result: ColumnElement[bool]
    match op:
        case "=":
            result = left == right
        case "!=":
            result = left.is_distinct_from(right)
        case ">":
            result = left > right
        case ">=":
            result = left >= right
        case "<":
            result = left < right
        case _:
            result = left <= right
    return result


def _both_may_be_numbers(left: Operand, right: Operand) -> bool:
    """A number column compares with any literal as a number; a text column compares as text."""
    columns = [each for each in (left, right) if not each.is_literal]
    return all(each.kind == "number" for each in columns) and not (
        not columns and left.kind != right.kind
    )
