"""The plain statements of one internal table, by equality of its columns. They bind their values,
and each is compiled when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from masthead.base import clock
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Bound, Database, Statement

_KEY, _SET = "key_", "set_"


class TableRows:
    def __init__(self, database: Database, table: sa.Table) -> None:
        self.database = database
        self.table = table
        self._statements: dict[tuple[Any, ...], Statement] = {}

    def select(
        self,
        columns: Sequence[str],
        key: Mapping[str, object],
        *,
        later: Mapping[str, str] | None = None,
        newest: tuple[str, int] | None = None,
    ) -> Bound:
        """`later`: only rows whose column is later than this. `newest`: by a column, at most so
        many."""
        later = later or {}

        def build() -> sa.Select[Any]:
            t = self.table.c
            after = [t[name] > sa.bindparam(f"later_{name}") for name in later]
            found = sa.select(*(t[name] for name in columns)).where(*self._at(key), *after)
            if newest is None:
                return found
            return found.order_by(t[newest[0]].desc()).limit(sa.literal_column(str(newest[1])))

        shape = ("select", *columns, "key", *key, "later", *later, newest)
        return self._bound(shape, build, key, {f"later_{name}": later[name] for name in later})

    def insert(self, values: Mapping[str, object]) -> Bound:
        """All columns."""
        statement = self._statement(("insert",), lambda: sa.insert(self.table))
        return statement(values)

    def insert_missing(self, values: Mapping[str, object]) -> Bound:
        """Inserts nothing if there is such a row. The key is the table's primary key."""
        return self._put(dialects.insert_missing, values)

    def upsert(self, values: Mapping[str, object]) -> Bound:
        return self._put(dialects.upsert_set, values)

    def update(self, values: Mapping[str, object], key: Mapping[str, object]) -> Bound:
        def build() -> sa.Update:
            named: dict[str, Any] = {name: sa.bindparam(f"{_SET}{name}") for name in values}
            return sa.update(self.table).where(*self._at(key)).values(named)

        given = {f"{_SET}{name}": value for name, value in values.items()}
        return self._bound(("update", *values, "key", *key), build, key, given)

    def delete(self, key: Mapping[str, object]) -> Bound:
        return self._bound(
            ("delete", *key), lambda: sa.delete(self.table).where(*self._at(key)), key
        )

    async def sweep(self, column: str, until: datetime) -> None:
        """Deletes the rows of all tenants whose time has come. It takes as long as there are."""

        def build() -> sa.Delete:
            return sa.delete(self.table).where(self.table.c[column] <= sa.bindparam("until"))

        statement = self._statement(("sweep", column), build)
        async with self.database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*statement({"until": clock.to_text(until)}), slow=True)

    def _at(self, key: Mapping[str, object]) -> list[sa.ColumnElement[bool]]:
        return [self.table.c[name] == sa.bindparam(f"{_KEY}{name}") for name in key]

    def _put(
        self,
        build: Callable[[sa.Table, Sequence[str], Sequence[str]], sa.Insert],
        values: Mapping[str, object],
    ) -> Bound:
        key = [column.name for column in self.table.primary_key]
        others = [name for name in values if name not in key]
        shape = (build.__name__, *others)
        statement = self._statement(shape, lambda: build(self.table, key, others))
        return statement(values)

    def _bound(
        self,
        shape: tuple[Any, ...],
        build: Callable[[], sa.ClauseElement],
        key: Mapping[str, object],
        values: Mapping[str, object] | None = None,
    ) -> Bound:
        statement = self._statement(shape, build)
        given = {f"{_KEY}{name}": value for name, value in key.items()}
        return statement({**given, **(values or {})})

    def _statement(
        self, shape: tuple[Any, ...], build: Callable[[], sa.ClauseElement]
    ) -> Statement:
        found = self._statements.get(shape)
        if found is None:
            found = self._statements[shape] = self.database.compile(build())
        return found
