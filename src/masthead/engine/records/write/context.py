"""The parts of the engine that every change uses, and the facts about its tenant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from masthead.base.clock import Clock
from masthead.base.config.keyring import KeyRing
from masthead.base.ids import TenantId
from masthead.engine.records.changes import Site
from masthead.engine.records.collection import Collection
from masthead.engine.records.derived.rows import DerivedRows
from masthead.engine.records.read.decoding import RowDecoder
from masthead.engine.records.read.query import Queries
from masthead.engine.records.registry import Registry
from masthead.engine.records.write.record_rows import WriteStatements
from masthead.storage.database import Row

MAX_TENANTS = 20_000
MAX_EXISTING = 32
"""Keys that are remembered of a tenant's collection."""
SETTINGS = "site_settings"
"""The collection of the settings of sites."""


class CachedTenant:
    __slots__ = ("existing", "has_no_subscriber", "identity_version", "site")

    def __init__(self, identity_version: int, site: Site) -> None:
        self.identity_version = identity_version
        self.site = site
        self.has_no_subscriber = False
        """Set by the first change that queries the subscribers and finds none."""
        self.existing: dict[tuple[str, str], set[str]] = {}
        """Keys that changes have found, by collection and field."""

    def remember(self, collection: str, by: str, found: set[str]) -> None:
        known = self.existing.setdefault((collection, by), set())
        if len(known) + len(found) > MAX_EXISTING:
            known.clear()
        if len(found) <= MAX_EXISTING:
            known |= found


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


class Settings:
    """Reads what changes depend on from a row of the settings."""

    def __init__(self, settings: Collection) -> None:
        self._decoder = RowDecoder(
            {name: type(settings.by_name[name]).decode for name in settings.hooks_read}
        )
        self._defaults = settings.default_values()

    def site(self, rows: Sequence[Row]) -> Site:
        """A tenant without settings has the defaults."""
        if not rows:
            return Site(settings={name: self._defaults[name] for name in self._decoder.names})
        read_only, deleted_at, slug, *values = rows[0]
        return Site(bool(read_only or deleted_at), slug, self._decoder.record(values))


class WriteContext(msgspec.Struct, frozen=True):
    registry: Registry
    queries: Queries
    statements: WriteStatements
    derived: DerivedRows
    keyring: KeyRing
    clock: Clock
    origin_of: Callable[[str, str], str]
    """The scheme and host of a tenant's one address, by its slug and its own domain."""
    settings: Settings
    tenants: TenantCache = msgspec.field(default_factory=TenantCache)
