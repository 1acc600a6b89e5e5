"""How current something remembered is: two numbers per tenant that move with every commit of it.

`content` moves with any change of the tenant's records, `identity` only when something changes that
says who is who: tenants, settings, accounts and keys. What was remembered under a number is good
while the number holds. On SQLite an unchanged `data_version` of the file saves even the reading.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import sqlalchemy as sa

from masthead.ids import TenantId
from masthead.records.tables import tenant_states
from masthead.storage.database import EVERY_TENANT, Database

MAX_REMEMBERED = 20_000


class Versions(NamedTuple):
    content: int = 0
    identity: int = 0


class TenantVersions:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: int | None = None
        self._has_just_looked = False
        self._known: dict[str, Versions] = {}
        self._read = database.compile(
            sa.select(tenant_states.c.version, tenant_states.c.identity_version).where(
                tenant_states.c.tenant_id == sa.bindparam("tenant")
            )
        )

    async def of(self, tenant_id: TenantId | str) -> Versions:
        if not self._has_just_looked:
            self._look()
        known = self._known.get(tenant_id)
        if known is not None:
            return known
        seen = self._seen
        rows = await self._database.fetch(
            EVERY_TENANT, self._read, self._read.bind({"tenant": tenant_id})
        )
        versions = Versions(*rows[0]) if rows else Versions()
        # Something may have been committed during the read: then this is already old.
        if seen is not None and seen == self._seen:
            self._known[tenant_id] = versions
        return versions

    def _look(self) -> None:
        """One look serves everything that runs until the loop comes round.

        The loop runs its callbacks in the order they came. So whatever still runs before `_expire`
        was asked for before this look, and what it sees is not older than its question.
        """
        seen = self._database.data_version()
        if seen is None or seen != self._seen or len(self._known) > MAX_REMEMBERED:
            self._known.clear()
            self._seen = seen
        if seen is not None:
            self._has_just_looked = True
            asyncio.get_running_loop().call_soon(self._expire)

    def _expire(self) -> None:
        self._has_just_looked = False
