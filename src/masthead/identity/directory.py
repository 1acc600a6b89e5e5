"""Finds tenants by slug, custom domain or id, and the settings of their sites, with caches.

An entry is valid while the tenant's identity version is the same.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple

import msgspec

from masthead.base.byte_cache import ByteCache
from masthead.base.counters import CACHES
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import tenants


class Tenant(msgspec.Struct, frozen=True):
    id: TenantId
    slug: str
    name: str
    plan: Plan
    per_minute: int | None
    per_hour: int | None
    per_day: int | None
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the API from a browser."""
    suspended_at: str = ""
    suspension_reason: str = ""
    deleted_at: str = ""
    """Since when the site waits for its deletion."""
    custom_domain: str = ""
    """Its own domain, which is proven."""

    @property
    def is_suspended(self) -> bool:
        return bool(self.suspended_at)


class SiteRecords(NamedTuple):
    """Shared by requests, so nobody may change them."""

    tenant: Record
    settings: Record | None
    identity_version: int


class TenantDirectory:
    def __init__(
        self, records: Records, site_settings: Collection, versions: TenantVersions
    ) -> None:
        self._records = records
        self._site_settings = site_settings
        self._versions = versions
        self._cache: ByteCache[tuple[str, str], tuple[Tenant, int]] = ByteCache(CACHES["tenants"])
        self._of_sites: ByteCache[TenantId, SiteRecords] = ByteCache(CACHES["settings"])

    def by_slug(self, slug: str) -> Awaitable[Tenant | None]:
        return self._look_up("slug", slug)

    def by_id(self, tenant_id: str) -> Awaitable[Tenant | None]:
        return self._look_up("id", tenant_id)

    def by_domain(self, domain: str) -> Awaitable[Tenant | None]:
        return self._look_up("domain", domain)

    async def _look_up(self, by: str, value: str) -> Tenant | None:
        key = (by, value)
        cached = self._cache.read(key)
        if cached is not None:
            tenant, version = cached
            if (await self._versions.of(tenant.id)).identity == version:
                return tenant
            self._cache.remove(key)
        found = await self._read(by, value)
        if found is None:
            return None
        # Unknown hosts are not cached: they must not evict others.
        self._cache.put(key, found, len(msgspec.msgpack.encode(found[0])))
        return found[0]

    async def _read(self, by: str, value: str) -> tuple[Tenant, int] | None:
        """The tenant, and the version that was read before it."""
        if by == "domain":
            named = await self._records.find_one(self._site_settings, {"custom_domain": value})
            if not named:
                return None
            by, value = "id", named["tenant_id"]
        found = await self._records.find_one(tenants, {by: value})
        if not found:
            return None
        tenant_id = TenantId(found["id"])
        version = (await self._versions.of(tenant_id)).identity
        site = await self.site_records(tenant_id, version)
        return (_tenant(site.tenant, site.settings or {}), version) if site else None

    async def site_records(self, tenant_id: TenantId, identity_version: int) -> SiteRecords | None:
        """As they are at this version, which the caller has read, or newer."""
        cached = self._of_sites.read(tenant_id)
        if cached is not None and cached.identity_version == identity_version:
            return cached
        found = await self._records.find_one(tenants, {"id": tenant_id}, tenant_id=tenant_id)
        if found is None:
            return None
        settings = await self._records.find_one(self._site_settings, {}, tenant_id=tenant_id)
        site = SiteRecords(found, settings, identity_version)
        self._of_sites.put(tenant_id, site, len(msgspec.msgpack.encode(site)))
        return site


def _tenant(record: Record, settings: Record) -> Tenant:
    return Tenant(
        id=TenantId(record["id"]),
        slug=record["slug"],
        name=record["name"],
        plan=Plan(record["plan"]),
        per_minute=record["per_minute"],
        per_hour=record["per_hour"],
        per_day=record["per_day"],
        cors_origins=tuple(settings.get("cors_origins", ())),
        suspended_at=record["suspended_at"],
        suspension_reason=record["suspension_reason"],
        deleted_at=settings.get("deleted_at", ""),
        custom_domain=settings.get("custom_domain", ""),
    )
