"""Replaces all migrations by one that creates the newest schema, from SQL files for both databases.

    python -m masthead.storage.migrations.squash masthead.service.schema:complete_metadata 0.2.0

Run it right after a release, whose number it takes: databases of earlier releases are migrated by
that release first. Then set `OLDEST` and `OLDEST_VERSION` in `masthead.storage.migrate`.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Final

from sqlalchemy import Dialect, MetaData, Table, make_url
from sqlalchemy.schema import CreateIndex, CreateTable, sort_tables

from masthead.storage import full_text
from masthead.storage.metadata import add_postgresql_conditions
from masthead.storage.migrations.run import VERSIONS, newest_revision, upgrade_sqlite
from masthead.storage.postgres.row_security import TENANT_COLUMN, grant, protect

_MIGRATION: Final = '''\
"""The schema of version {version}. `python -m masthead.storage.migrations.squash` wrote it."""

from __future__ import annotations

from masthead.storage.migrations.operations import execute_script

revision = "{revision}"
down_revision = None


def upgrade() -> None:
    execute_script(__file__)
'''


def squash(tables: MetaData, version: str, folder: Path = VERSIONS) -> Path:
    revision, order = newest_revision(), _order_of_creation()
    for each in folder.glob("r*"):
        each.unlink()
    migration = folder / f"r{revision}_version_{version.replace('.', '_')}.py"
    migration.write_text(_MIGRATION.format(version=version, revision=revision))
    for dialect in ("sqlite", "postgresql"):
        statements = create_statements(tables, dialect, order)
        script = "".join(f"{each};\n" for each in statements)
        migration.with_suffix(f".{dialect}.sql").write_text(script)
    return migration


def _order_of_creation() -> dict[str, int]:
    """The positions of columns and indexes in a migrated database.

    SQLite reads a column faster if it comes before a long text, and of two indexes that serve a
    query equally well it takes the newer one. So a new database has the order of a migrated one.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "migrated.db"
        upgrade_sqlite(path)
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute(
                "SELECT m.name || coalesce('.' || c.name, '') FROM sqlite_master m "
                "LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' "
                "ORDER BY m.rowid, c.cid"
            ).fetchall()
    return {name: position for position, (name,) in enumerate(names, 1)}


def create_statements(
    tables: MetaData, dialect: str, order: Mapping[str, int] | None = None
) -> list[str]:
    """The SQL that creates the declared tables. Each statement is one line."""
    add_postgresql_conditions(tables)
    statements: list[str] = []
    rendering = make_url(f"{dialect}://").get_dialect()()
    for table in sort_tables(tables.tables.values()):
        statements += _create_statements_of(table, rendering, order or {})
    if dialect == "postgresql":
        statements += _shares(tables)
    return [re.sub(r"\s*\n\s*", " ", each.strip()) for each in statements]


def _create_statements_of(
    table: Table, dialect: Dialect, order: Mapping[str, int]
) -> Iterator[str]:
    create = CreateTable(table)
    create.columns.sort(key=lambda each: order.get(f"{table.name}.{each.element.name}", 0))
    yield str(create.compile(dialect=dialect))
    if table is full_text.documents:
        yield from full_text.INDEX[dialect.name]
    for index in sorted(table.indexes, key=lambda each: (order.get(str(each.name), 0), each.name)):
        yield str(CreateIndex(index).compile(dialect=dialect))


def _shares(tables: MetaData) -> list[str]:
    of_tenants = [name for name, table in tables.tables.items() if TENANT_COLUMN in table.c]
    protected = [statement for name in sorted(of_tenants) for statement in protect(name)]
    return [grant(", ".join(sorted(tables.tables))), *protected]


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    sys.stdout.write(f"{squash(getattr(import_module(module), name)(), sys.argv[2])}\n")
