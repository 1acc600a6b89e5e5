"""Where SQLite and PostgreSQL differ: compiling, column types, text expressions, upserts.

Callers build SQLAlchemy Core expressions from these and never check which database they use. Only
`postgres` imports PostgreSQL's dialect, because the import slows a start noticeably.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.dialects.sqlite.dml import Insert, OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement, visitors
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from masthead.storage.database import Statement
from masthead.storage.sqlite.patterns import LIKE_FUNCTION

SQLITE: Dialect = SQLiteDialect(paramstyle="qmark")


def compile_statement(statement: ClauseElement, dialect: Dialect) -> Statement:
    """Every value becomes a parameter. Those without a value are bound by name later."""
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    required = {name: None for name, bind in compiled.binds.items() if bind.required}
    state = compiled.construct_expanded_state(required)
    names = tuple(state.positiontup or ())
    constants = {name: state.parameters[name] for name in names if name not in required}
    return Statement(
        state.statement, names, constants, _target_of(statement), _tables_of(statement)
    )


def _target_of(statement: ClauseElement) -> str:
    table = statement.table if isinstance(statement, sa.UpdateBase) else None
    return table.name if isinstance(table, sa.Table) else ""


def _tables_of(statement: ClauseElement) -> frozenset[str] | None:
    if isinstance(statement, sa.TextClause):
        return None
    parts = visitors.iterate(statement)
    return frozenset(each.name for each in parts if isinstance(each, sa.Table))


def with_counted(
    compiled: Statement, statement: ClauseElement, counted: Sequence[str]
) -> Statement:
    """Sets the positions of the columns whose bytes are counted."""
    assert isinstance(statement, sa.Select)
    names = [column.name for column in statement.selected_columns]
    positions = tuple(map(names.index, counted))
    return replace(compiled, counted=positions)


class Text(TypeDecorator[str]):
    """Text ordered by code point on both databases."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        collation = "C" if dialect.name == "postgresql" else None
        return dialect.type_descriptor(sa.Text(collation=collation))


class Json(TypeDecorator[str]):
    """A JSON document. Values go in and come out as JSON text on both databases."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(sa.Text())
        from sqlalchemy.dialects.postgresql import JSONB

        return dialect.type_descriptor(JSONB())


class Flag(TypeDecorator[bool]):
    """A boolean. SQLite returns 0 or 1, to which the reader of the row applies `bool`."""

    impl = sa.Boolean
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # SQLite would accept BOOLEAN, but gives such a column NUMERIC affinity.
        return dialect.type_descriptor(
            sa.Boolean() if dialect.name == "postgresql" else sa.Integer()
        )


class Integer(TypeDecorator[int]):
    """A signed 64-bit number."""

    impl = sa.BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # Only a column of the type INTEGER can be SQLite's rowid.
        return dialect.type_descriptor(
            sa.BigInteger() if dialect.name == "postgresql" else sa.Integer()
        )


class Real(TypeDecorator[float]):
    impl = sa.Float
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(
            sa.DOUBLE_PRECISION() if dialect.name == "postgresql" else sa.REAL()
        )


class Words(TypeDecorator[str]):
    """The words of a document, for `full_text`."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(sa.Text())
        from sqlalchemy.dialects.postgresql import TSVECTOR

        return dialect.type_descriptor(TSVECTOR())


class Blob(TypeDecorator[bytes]):
    impl = sa.LargeBinary
    cache_ok = True


def upsert_add(
    table: sa.Table, key_columns: Sequence[str], add_column: str, *more_columns: str
) -> Insert:
    """Inserts a row, or adds the given numbers to those of the row with the same key.

    The parameters have the columns' names.
    """
    adding = (add_column, *more_columns)
    statement = _insert_of(table, (*key_columns, *adding))
    added = {name: table.c[name] + statement.excluded[name] for name in adding}
    return or_update(statement, key_columns, added)


def upsert_set(table: sa.Table, key_columns: Sequence[str], set_columns: Sequence[str]) -> Insert:
    """Inserts a row, or replaces the given columns of the row with the same key."""
    statement = _insert_of(table, (*key_columns, *set_columns))
    return or_replace(statement, key_columns, set_columns)


def upsert_least(table: sa.Table, key_columns: Sequence[str], column: str) -> Insert:
    """Inserts a row, or lowers the column of the row with the same key if the new value is less."""
    statement = _insert_of(table, (*key_columns, column))
    lower = sa.case(
        (statement.excluded[column] < table.c[column], statement.excluded[column]),
        else_=table.c[column],
    )
    return or_update(statement, key_columns, {column: lower})


def insert_missing(table: sa.Table, key_columns: Sequence[str], columns: Sequence[str]) -> Insert:
    """Inserts a row unless one with the same key exists; the row count tells."""
    statement = _insert_of(table, (*key_columns, *columns))
    return statement.ext(_OrNothing(list(key_columns)))


def _insert_of(table: sa.Table, columns: Sequence[str]) -> Insert:
    return insert(table).values({name: sa.bindparam(name) for name in columns})


def insert(table: sa.Table) -> Insert:
    """For `or_replace` and `or_update`, which handle a row with the same key."""
    return Insert(table)


def or_replace(statement: Insert, key_columns: Sequence[str], columns: Sequence[str]) -> Insert:
    """Overwrites these columns of a row with the same key."""
    return or_update(statement, key_columns, {name: statement.excluded[name] for name in columns})


def or_update(
    statement: Insert,
    key_columns: Sequence[str],
    values: Mapping[str, ColumnElement[Any]],
    where: ColumnElement[bool] | None = None,
) -> Insert:
    return statement.ext(_OrUpdate(list(key_columns), set_=dict(values), where=where))


# SQLite's ON CONFLICT clause has PostgreSQL's syntax. PostgreSQL's compiler accepts SQLAlchemy's
# SQLite clause once it has a `constraint_target`.
class _OrUpdate(OnConflictDoUpdate):
    inherit_cache = True
    constraint_target = None


class _OrNothing(OnConflictDoNothing):
    inherit_cache = True
    constraint_target = None


class ordered_join(sa.Join):
    """`ordered_join(left, right, on)`: a join whose rows come in the order of the left side's
    index.

    SQLite plans without statistics and might begin with the right side; PostgreSQL has statistics.
    """

    inherit_cache = True


@compiles(ordered_join, "sqlite")
def _write_ordered_join(element: ordered_join, compiler: SQLCompiler, **kw: Any) -> str:
    kw["asfrom"] = True
    left, right = (compiler.process(side, **kw) for side in (element.left, element.right))
    assert element.onclause is not None
    return f"{left} CROSS JOIN {right} ON {compiler.process(element.onclause, **kw)}"


def random_order() -> ColumnElement[Any]:
    return sa.func.random()


class Expression(FunctionElement[Any]):
    """An expression whose SQL depends on the database."""

    inherit_cache = True


class _Condition(Expression):
    type = sa.Boolean()
    # Otherwise SQLAlchemy writes `(…) = 1` on SQLite, which hides the expression from the planner.
    _is_implicitly_boolean = True


def write_as(verb: type[Expression], *, sqlite: str, postgresql: str) -> None:
    """Sets the templates of an expression; `{0}` is its first argument."""
    for dialect, template in (("sqlite", sqlite), ("postgresql", postgresql)):
        compiles(verb, dialect)(_writer_of(template))


def _writer_of(template: str) -> Callable[..., str]:
    def write(element: Expression, compiler: SQLCompiler, **kw: Any) -> str:
        return template.format(*(compiler.process(clause, **kw) for clause in element.clauses))

    return write


def not_empty(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition of a partial index. A query needs the same text to use that index."""
    return column != sa.text("''")


def is_not(column: ColumnElement[Any], constant: str) -> ColumnElement[bool]:
    """The same for records whose value is not this one, which our own code names."""
    return column != sa.literal_column(f"'{constant}'")


class without_index(Expression):
    """`without_index(column)`: the same value, for which SQLite's planner uses no index.

    SQLite plans without statistics; PostgreSQL has them and needs no hint.
    """

    type = sa.Text()


write_as(without_index, sqlite="+{0}", postgresql="{0}")


class any_of(_Condition):
    """`any_of(column, values)`: IN over one parameter that `Database.list_value` encodes.

    With one parameter the statement is the same for any length, so it is prepared once.
    """


write_as(
    any_of,
    sqlite="({0} IN (SELECT value FROM json_each({1})))",
    postgresql="({0} = ANY ({1}))",
)


class contains_text(_Condition):
    """`contains_text(column, pattern)`: LIKE, case-insensitive for ASCII letters.

    The pattern comes from `like_pattern`.
    """


write_as(
    contains_text,
    sqlite="({0} LIKE {1} ESCAPE '\\')",
    # With "C" ILIKE ignores the case of A-Z only, as SQLite does.
    postgresql="""({0} ILIKE {1} COLLATE "C" ESCAPE '\\')""",
)


class long_text_contains(_Condition):
    """`long_text_contains(column, text)`: as `contains_text` with the text's `like_pattern`.

    A LIKE that nearly matches everywhere takes the length of the text times that of the pattern.
    For short texts LIKE is faster.
    """


write_as(
    long_text_contains,
    sqlite="(instr(lower({0}), lower({1})) > 0)",
    postgresql="""(strpos(lower({0} COLLATE "C"), lower({1} COLLATE "C")) > 0)""",
)


class long_text_like(_Condition):
    """`long_text_like(column, pattern)`: `contains_text` for long texts and any pattern."""


write_as(
    long_text_like,
    sqlite=f"{LIKE_FUNCTION}({{0}}, {{1}})",
    postgresql="""({0} ILIKE {1} COLLATE "C" ESCAPE '\\')""",
)


def like_pattern(text: str) -> str:
    """The pattern of PocketBase's `~`: the text anywhere, unless it contains a `%`."""
    if has_wildcard(text):
        # A lone backslash at the end is an error on PostgreSQL.
        trailing = len(text) - len(text.rstrip("\\"))
        return text + "\\" if trailing % 2 else text
    return "%" + re.sub(r"([\\%_])", r"\\\1", contained_text(text)) + "%"


def has_wildcard(text: str) -> bool:
    return _FREE_PERCENT.search(text) is not None


def contained_text(text: str) -> str:
    """The substring that PocketBase's `~` looks for, if the text has no wildcard."""
    return text.replace("\\%", "%").replace("\\_", "_")


_FREE_PERCENT = re.compile(r"(?<!\\)(?:\\\\)*%")
