"""Two version numbers per tenant by which caches are invalidated.

`content` grows with any change of the tenant's records, `identity` only with changes of tenants,
settings, accounts and keys. A cache entry is valid while its number is current. On SQLite an
unchanged `data_version` of the file makes even reading the numbers unnecessary. PostgreSQL has no
such number: there, one read serves all requests that ask before it is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.tables import tenant_states
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement

MAX_TENANTS = 20_000
FEW_TENANTS = 128
"""So many rows are read together."""
READ_SINGLY = 2
"""After a commit, so many tenants are read one by one: an operator's write asks for the site and
for the platform. A third one says that requests of many sites come between two commits."""

SHARED_READS = 2
"""So many at once on PostgreSQL: requests that come meanwhile wait for the next one together, and
one connection that hangs does not stop them."""


async def is_used(database: Database) -> bool:
    """Whether the database has ever been written to, for a tenant or for the platform."""
    statement = database.compile(sa.select(tenant_states.c.tenant_id).limit(1))
    return bool(await database.fetch(EVERY_TENANT, statement, statement.bind({})))


class Versions(NamedTuple):
    content: int = 0
    identity: int = 0


class TenantVersions:
    def __init__(
        self,
        database: Database,
        *,
        few_tenants: int = FEW_TENANTS,
        read_singly: int = READ_SINGLY,
    ) -> None:
        self._database = database
        self._data_version: int | None = None
        self._is_checked = False
        self._versions: dict[str, Versions] = {}
        self._prefetched: dict[str, Row] = {}
        """Read together with another tenant's and not requested yet."""
        self._few_tenants = few_tenants
        self._read_singly = read_singly
        self._are_few = True
        states = sa.select(
            tenant_states.c.version, tenant_states.c.identity_version, tenant_states.c.tenant_id
        )
        self._read_one = database.compile(
            states.where(tenant_states.c.tenant_id == sa.bindparam("tenant"))
        )
        self._read_few = database.compile(states.limit(few_tenants + 1))
        self._read_named = database.compile(
            states.where(dialects.any_of(tenant_states.c.tenant_id, sa.bindparam("tenants")))
        )
        self._asked: dict[str, asyncio.Future[Versions]] = {}
        """Tenants for which no read has been sent yet."""
        self._shared_reads: set[asyncio.Task[None] | None] = set()

    async def of(self, tenant_id: TenantId | str) -> Versions:
        if not self._is_checked:
            self._check_data_version()
        if self._data_version is None:
            return await self._of_next_read(tenant_id)
        cached = self._versions.get(tenant_id)
        if cached is not None:
            return cached
        row = self._prefetched.get(tenant_id)
        if row is None:
            data_version = self._data_version
            found = await self._read(tenant_id)
            row = found.get(tenant_id, (0, 0))
            # A commit during the read makes the result outdated, so it is not cached.
            if data_version != self._data_version:
                return Versions(row[0], row[1])
            self._prefetched = found
        versions = self._versions[tenant_id] = Versions(row[0], row[1])
        return versions

    async def _of_next_read(self, tenant_id: str) -> Versions:
        """Asks a read that is sent after this call, so it sees all commits before."""
        asked = self._asked.get(tenant_id)
        if asked is None:
            asked = self._asked[tenant_id] = asyncio.get_running_loop().create_future()
            if len(self._shared_reads) < SHARED_READS:
                # A separate task, so that the others continue when this caller is cancelled.
                self._shared_reads.add(asyncio.create_task(self._read_all_asked()))
        try:
            return await asyncio.shield(asked)
        finally:
            # Breaks the cycle of this frame and an exception's traceback.
            del asked

    async def _read_all_asked(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, {}
                await self._read_asked(asked)
        finally:
            # Here and not in a callback of the task: whoever asks from now on starts the next one.
            self._shared_reads.discard(asyncio.current_task())

    async def _read_asked(self, asked: dict[str, asyncio.Future[Versions]]) -> None:
        try:
            found = await self._fetch_named(list(asked))
        except Exception as error:
            _fail(asked.values(), error)
            # Breaks the cycle of the futures and the exception's traceback.
            asked.clear()
            return
        for tenant_id, each in asked.items():
            row = found.get(tenant_id, (0, 0))
            each.set_result(Versions(row[0], row[1]))

    async def _fetch_named(self, tenants: Sequence[str]) -> dict[str, Row]:
        # Most often it is one. With a list, PostgreSQL would make a plan each time.
        if len(tenants) == 1:
            return await self._fetch(self._read_one, {"tenant": tenants[0]})
        return await self._fetch(self._read_named, {"tenants": self._database.list_value(tenants)})

    async def _read(self, tenant_id: str) -> dict[str, Row]:
        are_more_likely = self._are_few and len(self._versions) >= self._read_singly
        found = await self._fetch_few() if are_more_likely else None
        return found or await self._fetch(self._read_one, {"tenant": tenant_id})

    async def _fetch_few(self) -> dict[str, Row] | None:
        """The rows of all tenants; None if there are many."""
        found = await self._fetch(self._read_few, {})
        self._are_few = len(found) <= self._few_tenants
        return found if self._are_few else None

    async def _fetch(self, statement: Statement, values: dict[str, object]) -> dict[str, Row]:
        rows = await self._database.fetch(EVERY_TENANT, statement, statement.bind(values))
        return {row[2]: row for row in rows}

    def _check_data_version(self) -> None:
        """One check serves all callbacks until the event loop's next iteration.

        The loop runs callbacks in order. So every callback that runs before `_expire` was scheduled
        before this check, and what it reads is not older than its request.
        """
        data_version = self._database.data_version()
        if data_version is None:
            return
        if data_version != self._data_version or len(self._versions) > MAX_TENANTS:
            self._versions.clear()
            self._prefetched = {}
            self._data_version = data_version
        self._is_checked = True
        asyncio.get_running_loop().call_soon(self._expire)

    def _expire(self) -> None:
        self._is_checked = False


def _fail(asked: Iterable[asyncio.Future[Versions]], error: Exception) -> None:
    for each in asked:
        each.set_exception(error)
        each.exception()  # retrieved, also if nobody waits any more
