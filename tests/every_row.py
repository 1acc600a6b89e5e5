"""Every row of a database: read, counted or deleted, whatever table it is in.

The statements are compiled once for each kind of database, which takes longer than running them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from masthead.service.schema import complete_metadata
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement

Building = Callable[[sa.Table], sa.ClauseElement]

_compiled: dict[tuple[str, Building], dict[str, Statement]] = {}


async def delete_every_row(database: Database) -> None:
    async with database.transaction(EVERY_TENANT) as tx:
        # Each table after those that refer to it.
        for statement in reversed(_of_each_table(database, sa.delete).values()):
            await tx.execute(statement)


async def every_row(database: Database) -> dict[str, list[Row]]:
    statements = _of_each_table(database, sa.select)
    return {
        name: await database.fetch(EVERY_TENANT, statement, statement.bind({}))
        for name, statement in statements.items()
    }


async def rows_of_tenant(database: Database, tenant_id: str) -> dict[str, list[Row]]:
    statements = _of_each_table(database, _of_tenant)
    return {
        name: await database.fetch(EVERY_TENANT, statement, (tenant_id,))
        for name, statement in statements.items()
    }


async def count_rows(database: Database, tenant_id: str, *names: str) -> dict[str, int]:
    """How many rows each table, or each of those named, has of the tenant, if any."""
    found = {}
    for name, statement in _of_each_table(database, _counted).items():
        if not names or name in names:
            ((count,),) = await database.fetch(EVERY_TENANT, statement, (tenant_id,))
            found |= {name: count} if count else {}
    return found


def _of_tenant(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).where(table.c.tenant_id == sa.bindparam("tenant"))


def _counted(table: sa.Table) -> sa.Select[Any]:
    counted = sa.select(sa.func.count()).select_from(table)
    return counted.where(table.c.tenant_id == sa.bindparam("tenant"))


def _of_each_table(database: Database, build: Building) -> dict[str, Statement]:
    key = (database.name, build)
    if key not in _compiled:
        of_tenants = build in (_of_tenant, _counted)
        _compiled[key] = {
            table.name: database.compile(build(table))
            for table in complete_metadata().sorted_tables
            if "tenant_id" in table.c or not of_tenants
        }
    return _compiled[key]
