"""The MetaData of all tables, with a naming convention for both databases.

A partial index is declared with `sqlite_where` only, because `postgresql_where` would load that
dialect at every start. To create tables for PostgreSQL, call `add_postgresql_conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import MetaData, Table

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s__%(column_0_N_name)s",
        "uq": "uq_%(table_name)s__%(column_0_N_name)s",
        "fk": "fk_%(table_name)s__%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Tables = Mapping[str, Table]
"""Tables by their names."""

_later: list[Callable[[], None]] = []


def build_later(build: Callable[[], None]) -> None:
    """For tables that are built when they are first used: `all_tables` calls `build`."""
    _later.append(build)


def all_tables() -> MetaData:
    """The metadata with every table. `metadata` itself lacks those that nothing has used yet."""
    for build in _later:
        build()
    return metadata


def add_postgresql_conditions(tables: MetaData) -> None:
    """Copies the conditions of partial indexes from SQLite to PostgreSQL."""
    for table in tables.tables.values():
        for index in table.indexes:
            where = index.dialect_options["sqlite"]["where"]
            if where is not None:
                index.dialect_kwargs["postgresql_where"] = where
