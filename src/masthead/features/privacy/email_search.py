"""Finds records whose texts contain a person's email address, in any variant, page by page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from functools import cached_property

import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection
from masthead.engine.records.registry import Registry
from masthead.features.privacy.email_variants import email_pattern
from masthead.features.privacy.personal import FREE_TEXT_COLLECTIONS
from masthead.storage import dialects
from masthead.storage.database import Database, Row, Statement, scope_of
from masthead.storage.metadata import all_tables

PAGE = 200
_AT_FORMS = ("@", "%40", "&#", "&commat", "\uff20", "\ufe6b")
"""A text without any of these holds no address."""


class EmailSearch:
    def __init__(self, database: Database, registry: Registry) -> None:
        self._database = database
        self._registry = registry

    @cached_property
    def _pages(self) -> list[tuple[Collection, Statement]]:
        return [
            (each, self._database.compile(_page(all_tables().tables[each.name])))
            for each in self._registry.collections
            if each.name in FREE_TEXT_COLLECTIONS
        ]

    async def find(self, tenant_id: TenantId, email: str) -> AsyncIterator[tuple[Collection, str]]:
        """Yields collections and record ids. After each page it pauses as long as the page took."""
        for collection, page in self._pages if email else ():
            after = ""
            while True:
                began = time.monotonic()
                rows = await self._rows(tenant_id, page, after)
                for record_id in await asyncio.to_thread(_matching, rows, email):
                    yield collection, record_id
                if len(rows) < PAGE:
                    break
                after = rows[-1][0]
                await asyncio.sleep(time.monotonic() - began)

    async def _rows(self, tenant_id: TenantId, page: Statement, after: str) -> list[Row]:
        bound = page({"t": tenant_id, "after": after})
        return await self._database.fetch(scope_of(tenant_id), *bound, slow=True)


def _page(table: sa.Table) -> sa.Select[tuple[str, ...]]:
    texts = [
        sa.cast(column, sa.Text())
        for column in table.columns
        if isinstance(column.type, dialects.Text | dialects.Json) and not column.primary_key
    ]
    conditions = (table.c.tenant_id == sa.bindparam("t"), table.c.id > sa.bindparam("after"))
    return sa.select(table.c.id, *texts).where(*conditions).order_by(table.c.id).limit(PAGE)


def _matching(rows: Sequence[Row], email: str) -> list[str]:
    pattern = email_pattern(email)
    return [
        str(record_id)
        for record_id, *texts in rows
        if any(text and _may_match(text) and pattern.is_in(text) for text in texts)
    ]


def _may_match(text: str) -> bool:
    return any(form in text for form in _AT_FORMS)
