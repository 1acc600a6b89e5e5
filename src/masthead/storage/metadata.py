"""The one MetaData that every table hangs on, with names that both databases share.

An index of some rows is declared in SQLite's words (`sqlite_where`) alone, because PostgreSQL's
would load its dialect with every start. Whoever writes tables from here says `partial_on_both`.
"""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s__%(column_0_N_name)s",
        "uq": "uq_%(table_name)s__%(column_0_N_name)s",
        "fk": "fk_%(table_name)s__%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def partial_on_both(tables: MetaData) -> None:
    """Has PostgreSQL's indexes leave out the rows that SQLite's do."""
    for table in tables.tables.values():
        for index in table.indexes:
            where = index.dialect_options["sqlite"]["where"]
            if where is not None:
                index.dialect_kwargs["postgresql_where"] = where
