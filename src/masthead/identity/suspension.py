"""Whether a site is suspended, for what is done later or by a link of an email."""

from __future__ import annotations

from masthead.engine.records.write.unit import Unit
from masthead.identity.tenants import TenantStatus, tenants


async def is_suspended(unit: Unit) -> bool:
    found = await unit.find(tenants, {"id": unit.tenant_id}, limit=1)
    return any(each["status"] == TenantStatus.SUSPENDED for each in found)
