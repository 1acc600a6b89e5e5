"""Expressions over JSON: the elements of a list, and the values inside a document.

A value inside a document compares as in SQLite, and so as in PocketBase: a missing one is NULL,
numbers come before texts, and a text is never equal to a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.storage.dialects import Expression, Real, write_as


def json_any(
    column: ColumnElement[Any], matches: Callable[[ColumnElement[Any]], ColumnElement[Any]]
) -> ColumnElement[bool]:
    """True when `matches` holds for the text of at least one element of a JSON array.

    Any other value is treated as an array of one element.
    """
    elements = json_elements(column)
    text = element_text(elements)
    return sa.exists(sa.select(sa.literal_column("1")).select_from(elements).where(matches(text)))


def json_elements(column: ColumnElement[Any]) -> FromClause:
    """A row for each element of a JSON array."""
    return _json_elements(column).table_valued("value", "type")


def element_text(elements: FromClause) -> ColumnElement[Any]:
    return _element_text(elements.c.value, elements.c.type)


def json_rows(array: ColumnElement[Any], columns: Mapping[str, Any], name: str) -> FromClause:
    """The objects of a JSON array as a table; `columns` are their members with their types."""
    elements = _json_objects(array).table_valued("value")
    members = (
        sa.cast(_json_member(elements.c.value, sa.literal_column(f"'{each}'")), type_).label(each)
        for each, type_ in columns.items()
    )
    return sa.select(*members).select_from(elements).subquery(name)


class _json_objects(Expression):
    name = "json_objects"


write_as(
    _json_objects,
    sqlite="json_each({0})",
    postgresql="jsonb_array_elements(CAST({0} AS jsonb))",
)


class _json_member(Expression):
    type = sa.Text()


write_as(_json_member, sqlite="({0} ->> {1})", postgresql="({0} ->> {1})")


class json_length(Expression):
    """`json_length(column)`: the number of elements of a JSON array."""

    type = sa.Integer()


write_as(json_length, sqlite="json_array_length({0})", postgresql="jsonb_array_length({0})")


class _json_elements(Expression):
    name = "json_elements"


write_as(
    _json_elements,
    sqlite=("json_each(CASE json_type({0}) WHEN 'array' THEN {0} ELSE json_array(json({0})) END)"),
    postgresql=(
        "jsonb_array_elements_text(CASE jsonb_typeof({0}) WHEN 'array' THEN {0} "
        "ELSE jsonb_build_array({0}) END)"
    ),
)

# SQLite returns JSON's true and false as 1 and 0.
_SCALAR_TEXT = (
    "(CASE {kind} WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST({value} AS TEXT) END)"
)


class _element_text(Expression):
    type = sa.Text()


write_as(
    _element_text,
    sqlite=_SCALAR_TEXT.format(value="{0}", kind="{1}"),
    postgresql='({0} COLLATE "C")',
)


# `strict`, because a lax path also matches the elements of an array, unlike SQLite's. The last
# argument (silent) makes a missing step NULL instead of an error.
_AT_PATH = (
    "jsonb_path_query_first({0}, CAST('strict ' || CAST({1} AS TEXT) AS jsonpath), '{{}}', true)"
)


class json_number(Expression):
    """`json_number(column, path)`: the number at the path, 1 or 0 for a boolean, else NULL. The
    path comes from `json_path`."""

    type = Real()


write_as(
    json_number,
    sqlite=(
        "(CASE json_type({0}, {1}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 "
        "WHEN 'integer' THEN CAST(json_extract({0}, {1}) AS REAL) "
        "WHEN 'real' THEN json_extract({0}, {1}) END)"
    ),
    postgresql=(
        f"(CASE jsonb_typeof({_AT_PATH}) "
        f"WHEN 'number' THEN CAST({_AT_PATH} #>> '{{{{}}}}' AS double precision) "
        f"WHEN 'boolean' THEN CASE WHEN {_AT_PATH} = 'true' THEN 1.0 ELSE 0.0 END END)"
    ),
)


class json_string(Expression):
    """`json_string(column, path)`: the text at the path, that of a list or an object as JSON, else
    NULL."""

    type = sa.Text()


write_as(
    json_string,
    sqlite=(
        "(CASE WHEN json_type({0}, {1}) IN ('text', 'array', 'object') "
        "THEN json_extract({0}, {1}) END)"
    ),
    postgresql=(
        f"((CASE WHEN jsonb_typeof({_AT_PATH}) IN ('string', 'array', 'object') "
        f"THEN {_AT_PATH} #>> '{{{{}}}}' END) COLLATE \"C\")"
    ),
)


class json_text(Expression):
    """`json_text(column, path)`: any value at the path as text, 1 or 0 for a boolean; NULL where
    there is none."""

    type = sa.Text()


write_as(
    json_text,
    sqlite="CAST(json_extract({0}, {1}) AS TEXT)",
    postgresql=(
        f"((CASE {_AT_PATH} WHEN 'true' THEN '1' WHEN 'false' THEN '0' "
        f"ELSE {_AT_PATH} #>> '{{{{}}}}' END) COLLATE \"C\")"
    ),
)


def json_path(*steps: str | int) -> str:
    """A path for both databases: `json_path("a", 0)` is `$."a"[0]`.

    Raises ValueError for a name that SQLite can't quote.
    """
    path = "$"
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif '"' in step or "\\" in step:
            raise ValueError("a JSON path can't hold a quote or a backslash")
        else:
            path += f'."{step}"'
    return path
