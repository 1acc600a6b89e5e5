"""The parts of the engine that every change uses, and what they know of its tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from masthead.clock import Clock
from masthead.config.keyring import KeyRing
from masthead.ids import TenantId
from masthead.records.changes import Site
from masthead.records.derived.rows import DerivedRows
from masthead.records.read.query import Queries
from masthead.records.registry import Registry
from masthead.records.write.record_rows import WriteStatements
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


@dataclass(frozen=True, slots=True)
class WriteContext:
    registry: Registry
    queries: Queries
    statements: WriteStatements
    derived: DerivedRows
    keyring: KeyRing
    clock: Clock
    origin_of: Callable[[str], str]
    """The scheme and host of a tenant's own addresses, by its slug."""
    tenants: TenantCache = field(default_factory=TenantCache)
