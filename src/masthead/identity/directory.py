"""Which tenant a request is about: by subdomain, custom domain, default tenant or id.

Answers come from memory while the database says that nothing was committed since; PostgreSQL can't
say that for free, so there each question is one indexed read.
"""

from __future__ import annotations

from dataclasses import dataclass

from masthead.identity.plans import Plan
from masthead.identity.tenants import tenants
from masthead.ids import TenantId
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records

MAX_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Tenant:
    id: TenantId
    slug: str
    name: str
    plan: Plan
    per_minute: int | None
    per_hour: int | None
    per_day: int | None
    cors_origins: tuple[str, ...] = ()
    """Whose pages may call the API from a browser."""


class TenantDirectory:
    def __init__(self, records: Records, site_settings: Collection) -> None:
        self._records = records
        self._site_settings = site_settings
        self._remembered: dict[tuple[str, str], Tenant | None] = {}
        self._seen: int | None = None

    async def by_slug(self, slug: str) -> Tenant | None:
        return await self._look_up("slug", slug)

    async def by_id(self, tenant_id: str) -> Tenant | None:
        return await self._look_up("id", tenant_id)

    async def by_domain(self, domain: str) -> Tenant | None:
        return await self._look_up("domain", domain)

    async def _look_up(self, by: str, value: str) -> Tenant | None:
        seen = self._records.database.data_version()
        if seen is None or seen != self._seen or len(self._remembered) > MAX_REMEMBERED:
            self._remembered.clear()
            self._seen = seen
        key = (by, value)
        if key in self._remembered:
            return self._remembered[key]
        tenant = await self._read(by, value)
        # Something may have been committed during the read: then this is already old.
        if seen is not None and seen == self._seen:
            self._remembered[key] = tenant
        return tenant

    async def _read(self, by: str, value: str) -> Tenant | None:
        if by == "domain":
            settings = await self._records.find(self._site_settings, {"custom_domain": value})
            if not settings:
                return None
            by, value = "id", settings[0]["tenant_id"]
        found = await self._records.find(tenants, {by: value})
        if not found:
            return None
        tenant_id = TenantId(found[0]["id"])
        settings = await self._records.find(self._site_settings, {}, tenant_id=tenant_id)
        return _tenant(found[0], settings[0] if settings else {})


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
    )
