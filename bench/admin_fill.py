"""How the records of `bench.admin` are written, and how they are spread over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.service.services import Services
from masthead.storage.database import EVERY_TENANT

BATCH = 500
_ROWS = 5_000
_YEARS = timedelta(days=3 * 365)

Made = tuple[Record, dict[str, Any]]
"""What is given, and what is stamped."""


async def fill(
    parts: Services, tenant_id: TenantId, collection: Collection, made: Iterator[Made]
) -> None:
    while batch := list(islice(made, BATCH)):
        unit = parts.records.unit(system(tenant_id), emit_events=False)
        async with unit as opened, opened.batched_inserts():
            for given, stamped in batch:
                await opened.create(collection, given, stamped=stamped)


async def insert(parts: Services, table: sa.Table, rows: Iterator[Mapping[str, Any]]) -> None:
    """Past the engine."""
    statement: Any = None
    while batch := list(islice(rows, _ROWS)):
        if statement is None:
            values = {name: sa.bindparam(name) for name in batch[0]}
            statement = parts.database.compile(sa.insert(table).values(values))
        async with parts.database.transaction(EVERY_TENANT) as tx:
            await tx.execute_many(statement, [statement.bind(each) for each in batch])


def moments(count: int, now: datetime, length: timedelta = _YEARS) -> Callable[[int], str]:
    """Evenly spread, the last one a minute ago."""
    step = length / max(count, 1)
    first = now - length - timedelta(minutes=1)
    return lambda number: clock.to_text(first + step * (number + 1))
