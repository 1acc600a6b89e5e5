"""Authenticates calls by API key. `api_keys` creates and stores the keys.

Keys are cached while their tenant's identity version is the same, so that a revoked key is refused
from the next call on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog

from masthead import clock
from masthead.caller import Caller, Kind
from masthead.errors import Unavailable
from masthead.identity.api_keys import api_keys, hash_key, is_well_formed
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.scopes import granted
from masthead.ids import TenantId
from masthead.records.engine import Records
from masthead.records.versions import TenantVersions
from masthead.storage.database import EVERY_TENANT

MAX_CACHED = 20_000
USE_INTERVAL = timedelta(minutes=1)
FLUSH_SECONDS = 5.0

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    tenant: Tenant
    scopes: frozenset[str]
    """In canonical names."""
    expires_at: str
    revoked_at: str
    caller: Caller

    def is_valid(self, now: datetime) -> bool:
        if not self.expires_at and not self.revoked_at:
            return True
        ends = [moment for moment in (self.expires_at, self.revoked_at) if moment]
        return clock.to_text(now) < min(ends)


class ApiKeys:
    def __init__(
        self,
        records: Records,
        directory: TenantDirectory,
        versions: TenantVersions,
        *,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._records = records
        self._directory = directory
        self._versions = versions
        self._cache: dict[str, tuple[ApiKey, int]] = {}
        self._uses = KeyUses(records, flush_seconds)

    async def authenticate(self, key: str) -> ApiKey | None:
        """The key if it exists and is valid. Its use is recorded, and written later."""
        found = await self._look_up(key) if key.isascii() else None
        now = self._records.clock()
        if found is None or not found.is_valid(now):
            return None
        self._uses.record(found, now)
        return found

    async def flush(self) -> None:
        """Writes recorded uses. Called before the database is closed."""
        await self._uses.flush()

    async def _look_up(self, key: str) -> ApiKey | None:
        key_hash = hash_key(key)
        cached = self._cache.get(key_hash)
        if cached is not None:
            api_key, version = cached
            if (await self._versions.of(api_key.tenant.id)).identity == version:
                return api_key
            self._cache.pop(key_hash, None)
        found = await self._read(key_hash) if is_well_formed(key) else None
        if found is None:
            return None
        # Unknown keys are not cached: they must not evict others.
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[key_hash] = found
        return found[0]

    async def _read(self, key_hash: str) -> tuple[ApiKey, int] | None:
        """The key, and the tenant's identity version that was read before it."""
        rows = await self._records.find(api_keys, {"key_hash": key_hash})
        if not rows:
            return None
        tenant_id = TenantId(rows[0]["tenant_id"])
        version = (await self._versions.of(tenant_id)).identity
        rows = await self._records.find(api_keys, {"key_hash": key_hash}, tenant_id=tenant_id)
        tenant = await self._directory.by_id(tenant_id)
        if not rows or tenant is None:
            return None
        key_id, scopes = rows[0]["id"], granted(rows[0]["scopes"])
        key = ApiKey(
            id=key_id,
            tenant=tenant,
            scopes=scopes,
            expires_at=rows[0]["expires_at"],
            revoked_at=rows[0]["revoked_at"],
            caller=Caller(Kind.KEY, tenant_id, key_id, collection=api_keys.name, scopes=scopes),
        )
        return key, version


class KeyUses:
    """When keys were last used: recorded in memory, written a little later, many at once.

    Bypasses the engine: the tenant's caches stay valid, and there is no event.
    """

    def __init__(self, records: Records, flush_seconds: float) -> None:
        self._records = records
        self._flush_seconds = flush_seconds
        self._recorded: dict[tuple[TenantId, str], datetime] = {}
        self._pending: dict[tuple[TenantId, str], datetime] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._write = records.database.compile(_record_use())

    def record(self, key: ApiKey, now: datetime) -> None:
        name = (key.tenant.id, key.id)
        recorded = self._recorded.get(name)
        if recorded is not None and recorded <= now < recorded + USE_INTERVAL:
            return
        if len(self._recorded) >= MAX_CACHED:
            self._recorded.clear()
        self._recorded[name] = self._pending[name] = now
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._flush_seconds, self._start_writing)

    async def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        await self._flush()

    def _start_writing(self) -> None:
        self._timer = None
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        uses, self._pending = self._pending, {}
        if not uses:
            return
        # In a fixed order, so that two processes can't deadlock.
        rows = [self._write.bind(_use(*name, used)) for name, used in sorted(uses.items())]
        try:
            async with self._records.database.transaction(EVERY_TENANT) as tx:
                await tx.execute_many(self._write, rows)
        except Unavailable:
            # A lost use is logged and does not fail a request.
            _log.warning("the last use of API keys was not recorded", keys=len(uses))


def _record_use() -> sa.Update:
    # Another process may have recorded a use within the last minute.
    table = sa.table(
        api_keys.name, *(sa.column(name) for name in ("tenant_id", "id", "last_used_at"))
    )
    return (
        sa.update(table)
        .where(
            table.c.tenant_id == sa.bindparam("tenant"),
            table.c.id == sa.bindparam("key"),
            table.c.last_used_at <= sa.bindparam("due"),
        )
        .values(last_used_at=sa.bindparam("used"))
    )


def _use(tenant_id: TenantId, key_id: str, used: datetime) -> dict[str, object]:
    return {
        "tenant": tenant_id,
        "key": key_id,
        "used": clock.to_text(used),
        "due": clock.to_text(used - USE_INTERVAL),
    }
