"""API keys for tests of the public API."""

from __future__ import annotations

import httpx
from tests.world import TenantWorld

from masthead.identity.api_keys import create_key
from masthead.identity.scopes import PERSONAL, SCOPES

USUAL = tuple(scope for scope in SCOPES if scope != PERSONAL)
"""All that a key needs to call every endpoint: members stay anonymous."""


async def key_client(tenant: TenantWorld, *scopes: str, host: str = "") -> httpx.AsyncClient:
    """A client with a key of the tenant, on the tenant's host; by default with the scopes of
    all endpoints."""
    _, key = await create_key(tenant.world.parts.records, tenant.id, "test", scopes or USUAL)
    return tenant.world.client(host or tenant.host, token=key)
