"""Who answers for a tenant: the one to write to."""

from __future__ import annotations

from masthead.identity.tenants import Role, superusers, tenants
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.records.engine import Records


async def owner_of(records: Records, tenant_id: TenantId) -> Record | None:
    """The named owner, else the first one; None when the tenant has just been erased."""
    found = await records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id)
    named = [each["owner_id"] for each in found if each["owner_id"]]
    for by in [{"id": each} for each in named] + [{}]:
        # One who has become an editor or an author is no longer the one to write to.
        owners = await records.find(superusers, {**by, "role": Role.OWNER}, tenant_id=tenant_id)
        if owners:
            return owners[0]
    return None
