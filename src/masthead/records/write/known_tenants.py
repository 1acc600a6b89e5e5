"""What changes of a tenant need to know of it, remembered as long as its identity version holds.

The version is read in the change's own transaction, so what is remembered is never older than that.
"""

from __future__ import annotations

from masthead.ids import TenantId
from masthead.records.collection import Site
from masthead.storage.database import Row

MAX_KNOWN = 20_000


class KnownTenant:
    __slots__ = ("has_no_subscriber", "identity_version", "site")

    def __init__(self, identity_version: int, site: Site) -> None:
        self.identity_version = identity_version
        self.site = site
        self.has_no_subscriber = False
        """Set by the first change that looks for subscribers and finds none."""


UNKNOWN = KnownTenant(-1, Site())


class KnownTenants:
    def __init__(self) -> None:
        self._known: dict[TenantId, KnownTenant] = {}

    def get(self, tenant_id: TenantId, identity_version: int) -> KnownTenant | None:
        known = self._known.get(tenant_id)
        return known if known is not None and known.identity_version == identity_version else None

    def remember(self, tenant_id: TenantId, known: KnownTenant) -> None:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[tenant_id] = known

    def forget(self, tenant_id: TenantId) -> None:
        self._known.pop(tenant_id, None)


def site_of(row: Row) -> Site:
    read_only, deleted_at, comments_enabled, members_enabled = row
    return Site(
        read_only=bool(read_only or deleted_at),
        comments_enabled=bool(comments_enabled),
        members_enabled=bool(members_enabled),
    )
