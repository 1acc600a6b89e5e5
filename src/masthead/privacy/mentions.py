"""Finds texts of others that hold a person's address, in whatever spelling, a page at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

import sqlalchemy as sa

from masthead.ids import TenantId
from masthead.privacy.personal import FREE_TEXTS
from masthead.privacy.spellings import spellings_of
from masthead.records.collection import Collection, Registry
from masthead.storage import dialects
from masthead.storage.database import Database, Row, Statement, scope_of
from masthead.storage.metadata import metadata

PAGE = 200
_MARKS = ("@", "%40", "&#", "&commat", "\uff20", "\ufe6b")
"""A text without any of these needs no closer look."""


class Mentions:
    def __init__(self, database: Database, registry: Registry) -> None:
        self._database = database
        self._pages = [
            (each, database.compile(_page(metadata.tables[each.name])))
            for each in registry.collections
            if each.name in FREE_TEXTS
        ]

    async def of(self, tenant_id: TenantId, email: str) -> AsyncIterator[tuple[Collection, str]]:
        """The records, by their ids. Each page is followed by a pause as long as it took."""
        for collection, page in self._pages if email else ():
            after = ""
            while True:
                began = time.monotonic()
                rows = await self._rows(tenant_id, page, after)
                for record_id in await asyncio.to_thread(_mentioning, rows, email):
                    yield collection, record_id
                if len(rows) < PAGE:
                    break
                after = rows[-1][0]
                await asyncio.sleep(time.monotonic() - began)

    async def _rows(self, tenant_id: TenantId, page: Statement, after: str) -> list[Row]:
        bound = page.bind({"t": tenant_id, "after": after})
        return await self._database.fetch(scope_of(tenant_id), page, bound, slow=True)


def _page(table: sa.Table) -> sa.Select[tuple[str, ...]]:
    texts = [
        sa.cast(column, sa.Text())
        for column in table.columns
        if isinstance(column.type, dialects.Text | dialects.Json) and not column.primary_key
    ]
    mine = (table.c.tenant_id == sa.bindparam("t"), table.c.id > sa.bindparam("after"))
    return sa.select(table.c.id, *texts).where(*mine).order_by(table.c.id).limit(PAGE)


def _mentioning(rows: Sequence[Row], email: str) -> list[str]:
    spelled = spellings_of(email)
    return [
        str(record_id)
        for record_id, *texts in rows
        if any(text and _has_mark(text) and spelled.is_in(text) for text in texts)
    ]


def _has_mark(text: str) -> bool:
    return any(mark in text for mark in _MARKS)
