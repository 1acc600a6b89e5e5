"""Who is calling, as a value that is handed down; nothing below a face reaches into a request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from masthead.ids import TenantId


class Kind(StrEnum):
    GUEST = "guest"
    MEMBER = "member"
    OWNER = "owner"
    """A tenant's administrator: everything of the own tenant, nothing of another."""
    OPERATOR = "operator"
    """A platform operator: every tenant."""
    KEY = "key"
    """An API key: the own tenant, within the scopes its route has checked."""
    SYSTEM = "system"
    """The service itself: the worker, importers, payment receivers, the command line."""


@dataclass(frozen=True, slots=True)
class Caller:
    kind: Kind
    tenant_id: TenantId | None = None
    """The tenant the call is about; None is the whole platform."""
    id: str = ""
    email: str = ""
    collection: str = ""
    scopes: frozenset[str] = frozenset()

    @property
    def is_admin(self) -> bool:
        """May read and change everything of the tenant, access rules aside."""
        return self.kind in _ADMINS

    @property
    def is_platform(self) -> bool:
        """Stands above the tenants: may also write what an owner can't."""
        return self.kind in _PLATFORM


_ADMINS = frozenset({Kind.OWNER, Kind.OPERATOR, Kind.KEY, Kind.SYSTEM})
_PLATFORM = frozenset({Kind.OPERATOR, Kind.SYSTEM})


def guest(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.GUEST, tenant_id)


def system(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.SYSTEM, tenant_id)
