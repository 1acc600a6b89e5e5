"""Rows that no validation lets pass, as a fault of the service or of a hand might leave them."""

from __future__ import annotations

import sqlalchemy as sa

from masthead.service.schema import complete_metadata
from masthead.storage.database import EVERY_TENANT, Database


async def poison(database: Database, table: str, record_id: str, **values: object) -> None:
    rows = complete_metadata().tables[table]
    names = {name: sa.bindparam(f"new_{name}") for name in values}
    statement = database.compile(
        sa.update(rows).where(rows.c.id == sa.bindparam("key_id", required=True)).values(names)
    )
    bound = {f"new_{name}": value for name, value in values.items()} | {"key_id": record_id}
    async with database.transaction(EVERY_TENANT) as tx:
        assert await tx.execute(statement, statement.bind(bound)) == 1
