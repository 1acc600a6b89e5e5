"""Authenticates calls by API key. `api_keys` creates and stores the keys.

Keys are cached while their tenant's identity version is the same, so that a revoked key is refused
from the next call on.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from masthead.base import clock
from masthead.base.byte_cache import ByteCache
from masthead.base.caller import Caller, Kind
from masthead.base.counters import CACHES
from masthead.base.ids import TenantId
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.identity.api_keys import KEY_LENGTH, api_keys, hash_key, is_well_formed
from masthead.identity.call_counts import CallCounts
from masthead.identity.delayed_writes import FLUSH_SECONDS
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.last_uses import LastUses
from masthead.identity.scopes import granted

USE_INTERVAL = timedelta(minutes=1)


class ApiKey(msgspec.Struct, frozen=True):
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
        self._cache: ByteCache[str, tuple[ApiKey, int]] = ByteCache(CACHES["keys"])
        self._uses = LastUses(
            records.database,
            api_keys.name,
            "last_used_at",
            USE_INTERVAL,
            flush_seconds=flush_seconds,
        )
        self._calls = CallCounts(records.daily, flush_seconds)

    async def authenticate(self, key: str) -> ApiKey | None:
        """The key if it exists and is valid. Its use is counted, and written later."""
        found = await self._look_up(key) if key.isascii() else None
        now = self._records.clock()
        if found is None or not found.is_valid(now):
            return None
        self._uses.record(found.tenant.id, found.id, now)
        self._calls.record(found.tenant.id, found.id, now)
        return found

    async def flush(self) -> None:
        """Writes recorded uses. Called before the database is closed."""
        await self._uses.flush()
        await self._calls.flush()

    async def _look_up(self, key: str) -> ApiKey | None:
        if len(key) != KEY_LENGTH:
            # Nor is its hash remembered: it may be long.
            return None
        key_hash = hash_key(key)
        cached = self._cache.read(key_hash)
        if cached is not None:
            api_key, version = cached
            if (await self._versions.of(api_key.tenant.id)).identity == version:
                return api_key
            self._cache.remove(key_hash)
        found = await self._read(key_hash) if is_well_formed(key) else None
        if found is None:
            return None
        # Unknown keys are not cached: they must not evict others.
        self._cache.put(key_hash, found, len(key_hash))
        return found[0]

    async def _read(self, key_hash: str) -> tuple[ApiKey, int] | None:
        """The key, and the tenant's identity version that was read before it."""
        found = await self._records.find_one(api_keys, {"key_hash": key_hash})
        if not found:
            return None
        tenant_id = TenantId(found["tenant_id"])
        version = (await self._versions.of(tenant_id)).identity
        found = await self._records.find_one(api_keys, {"key_hash": key_hash}, tenant_id=tenant_id)
        tenant = await self._directory.by_id(tenant_id)
        if not found or tenant is None:
            return None
        key_id, scopes = found["id"], granted(found["scopes"])
        key = ApiKey(
            id=key_id,
            tenant=tenant,
            scopes=scopes,
            expires_at=found["expires_at"],
            revoked_at=found["revoked_at"],
            caller=Caller(Kind.KEY, tenant_id, key_id, collection=api_keys.name, scopes=scopes),
        )
        return key, version
