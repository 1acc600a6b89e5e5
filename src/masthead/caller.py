"""Who is calling, as a value that is handed down; nothing below a face reaches into a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from masthead.ids import TenantId


class Kind(StrEnum):
    GUEST = "guest"
    MEMBER = "member"
    AUTHOR = "author"
    """Staff of a tenant: own posts, as far as the collections' rules for authors say."""
    EDITOR = "editor"
    """Staff of a tenant: its content, as far as the collections' rules for editors say."""
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
        """May read and change everything of the tenant, access rules aside. An editor and an author
        may not: they are staff, but rules bind them as they bind a member."""
        return self.kind in _ADMINS

    @property
    def is_reader(self) -> bool:
        """Not of the staff: may change nothing but the own account."""
        return self.kind in _READERS

    @property
    def is_platform(self) -> bool:
        """Stands above the tenants: may also write what an owner can't."""
        return self.kind in _PLATFORM


_ADMINS = frozenset({Kind.OWNER, Kind.OPERATOR, Kind.KEY, Kind.SYSTEM})
_READERS = frozenset({Kind.GUEST, Kind.MEMBER})
_PLATFORM = frozenset({Kind.OPERATOR, Kind.SYSTEM})


def in_tenant(caller: Caller, tenant_id: TenantId) -> Caller:
    return replace(caller, tenant_id=tenant_id)


def guest(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.GUEST, tenant_id)


def system(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.SYSTEM, tenant_id)
