"""A tenant's settings as its changes need them, cached while its identity version is the same.

Each change reads the version in its own transaction, so it never sees an entry older than that.
"""

from __future__ import annotations

from masthead.ids import TenantId
from masthead.records.collection import Site
from masthead.storage.database import Row

MAX_TENANTS = 20_000


class CachedTenant:
    __slots__ = ("has_no_subscriber", "identity_version", "site")

    def __init__(self, identity_version: int, site: Site) -> None:
        self.identity_version = identity_version
        self.site = site
        self.has_no_subscriber = False
        """Set by the first change that queries the subscribers and finds none."""


UNKNOWN = CachedTenant(-1, Site())


class TenantCache:
    def __init__(self) -> None:
        self._tenants: dict[TenantId, CachedTenant] = {}

    def get(self, tenant_id: TenantId, identity_version: int) -> CachedTenant | None:
        cached = self._tenants.get(tenant_id)
        return (
            cached if cached is not None and cached.identity_version == identity_version else None
        )

    def put(self, tenant_id: TenantId, cached: CachedTenant) -> None:
        if len(self._tenants) >= MAX_TENANTS:
            self._tenants.clear()
        self._tenants[tenant_id] = cached

    def discard(self, tenant_id: TenantId) -> None:
        self._tenants.pop(tenant_id, None)


def site_of(row: Row) -> Site:
    read_only, deleted_at, comments_enabled, members_enabled, comments_by, moderation, slug = row
    return Site(
        read_only=bool(read_only or deleted_at),
        comments_enabled=bool(comments_enabled),
        members_enabled=bool(members_enabled),
        comments_by=comments_by,
        comments_moderation=moderation,
        slug=slug,
    )
