"""What the front door has learned about a request before any face sees it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

from masthead.identity.directory import Tenant
from masthead.ids import TenantId


@dataclass(slots=True)
class Visit:
    request_id: str
    tenant: Tenant | None
    """By host, default tenant or `x-tenant-id`; None on the bare host."""
    address: str
    """The client's IP address, behind trusted proxies too."""
    is_https: bool
    key_id: str = ""
    """Of the API key, once there is a valid one; for the log."""

    @property
    def tenant_id(self) -> TenantId | None:
        return self.tenant.id if self.tenant else None


def visit_of(scope: Scope) -> Visit:
    visit = scope["masthead.visit"]
    assert isinstance(visit, Visit)
    return visit
