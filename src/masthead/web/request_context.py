"""What the front door knows of a request: tenant, client address and request id."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.types import Scope

from masthead.identity.directory import Tenant
from masthead.ids import TenantId
from masthead.web.answers import RawHeaders


@dataclass(slots=True)
class RequestContext:
    request_id: str
    tenant: Tenant | None
    """By host, default tenant or `x-tenant-id`; None on the bare host."""
    address: str
    """The client's IP address, behind trusted proxies too."""
    is_https: bool
    added: RawHeaders = field(default_factory=list)
    """Headers that its response gets, whatever it is."""
    key_id: str = ""
    """Of the valid API key, for the access log."""

    @property
    def tenant_id(self) -> TenantId | None:
        return self.tenant.id if self.tenant else None


def request_context(scope: Scope) -> RequestContext:
    context = scope["masthead.request"]
    assert isinstance(context, RequestContext)
    return context
