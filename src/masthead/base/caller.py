"""The caller of an operation, as a value. Code below the faces has no access to the request."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec
from msgspec.structs import replace

from masthead.base.ids import TenantId


class Kind(StrEnum):
    GUEST = "guest"
    MEMBER = "member"
    CONTRIBUTOR = "contributor"
    """Staff of a tenant: own drafts, by the collections' rules for contributors."""
    AUTHOR = "author"
    """Staff of a tenant: own posts, by the collections' rules for authors."""
    EDITOR = "editor"
    """Staff of a tenant: its content, by the collections' rules for editors."""
    OWNER = "owner"
    """A tenant's administrator: everything in its own tenant."""
    OPERATOR = "operator"
    """A platform operator: every tenant."""
    KEY = "key"
    """An API key: its own tenant, within the scopes that the route has checked."""
    SYSTEM = "system"
    """The service itself: the worker, importers, payment receivers, the command line."""
    SHELL = "command line"
    """A person with a shell on the machine, who has no account: unlike what the service does
    itself, it is in the audit log."""
    SITE = "site"
    """A page, feed or search of the reader's site: what the collections' site rules show."""


class Audience(IntEnum):
    """For whom the reader's site makes a page; each sees what those before it see."""

    GUEST = 0
    FREE = 1
    PAID = 2
    STAFF = 3


class Reader(msgspec.Struct, frozen=True):
    """Everything that decides which texts of a site the caller may read."""

    audience: Audience = Audience.GUEST
    level: str = ""
    """The id of the tier that a paid member has; '' for none."""


GUEST_READER = Reader()
STAFF_READER = Reader(Audience.STAFF)


class Caller(msgspec.Struct, frozen=True):
    kind: Kind
    tenant_id: TenantId | None = None
    """The tenant of the call; None is the whole platform."""
    id: str = ""
    email: str = ""
    collection: str = ""
    scopes: frozenset[str] = frozenset()
    reader: Reader = GUEST_READER
    """For whom a page of the reader's site is."""
    sign_in: str = ""
    """Which sign-in of the account it is; forms are bound to it."""
    lacks_factor: bool = False
    """Its site requires a second factor of staff, and the account has none: it can only add one."""
    address: str = ""
    """The network address that staff calls from, for the audit log."""
    is_renewable: bool = True
    """The session can be prolonged: not that of an operator or an owner who acts as the account."""

    @property
    def audience(self) -> Audience:
        return self.reader.audience

    @property
    def is_admin(self) -> bool:
        """May read and change everything of the tenant: no access rules apply. For editors and
        writers they do."""
        return self.kind in _ADMINS

    @property
    def is_writer(self) -> bool:
        """An author or a contributor: sees own posts only, and may be a guest of the site."""
        return self.kind in _WRITERS

    @property
    def is_reader(self) -> bool:
        """Not staff: may only change its own account."""
        return self.kind in _READERS

    @property
    def is_platform(self) -> bool:
        """Belongs to no tenant: may also write what an owner can't."""
        return self.kind in _PLATFORM

    @property
    def is_logged(self) -> bool:
        """A person: what they do is in the audit log."""
        return self.is_staff_account or self.kind is Kind.SHELL

    @property
    def is_staff_account(self) -> bool:
        """A person on the staff, or an operator. Without an id it is the service on behalf of a
        tenant."""
        return self.kind in _PEOPLE and bool(self.id)


SITE_STAFF = frozenset({Kind.CONTRIBUTOR, Kind.AUTHOR, Kind.EDITOR, Kind.OWNER})
"""The accounts of a tenant's own staff."""
_PEOPLE = SITE_STAFF | {Kind.OPERATOR}
_WRITERS = frozenset({Kind.CONTRIBUTOR, Kind.AUTHOR})
_ADMINS = frozenset({Kind.OWNER, Kind.OPERATOR, Kind.KEY, Kind.SYSTEM, Kind.SHELL})
_READERS = frozenset({Kind.GUEST, Kind.MEMBER})
_PLATFORM = frozenset({Kind.OPERATOR, Kind.SYSTEM, Kind.SHELL})


def in_tenant(caller: Caller, tenant_id: TenantId) -> Caller:
    return replace(caller, tenant_id=tenant_id)


def guest(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.GUEST, tenant_id)


def site(tenant_id: TenantId, reader: Reader) -> Caller:
    return Caller(Kind.SITE, tenant_id, reader=reader)


def system(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.SYSTEM, tenant_id)


def shell(tenant_id: TenantId | None = None) -> Caller:
    return Caller(Kind.SHELL, tenant_id)


def service_of(tenant_id: TenantId) -> Caller:
    """The service on behalf of one tenant. It may do what an owner may and no more: unlike the
    system it changes nothing while the site is read-only."""
    return Caller(Kind.OWNER, tenant_id)
