"""Finds the owner of a tenant, to whom the service sends mail."""

from __future__ import annotations

from masthead.identity.tenants import Role, superusers, tenants
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.records.engine import Records


async def owner_of(records: Records, tenant_id: TenantId) -> Record | None:
    """The named owner, otherwise the first one; None if the tenant was erased meanwhile."""
    found = await records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id)
    named = [each["owner_id"] for each in found if each["owner_id"]]
    for by in [{"id": each} for each in named] + [{}]:
        # The named owner may have another role by now.
        owners = await records.find(superusers, {**by, "role": Role.OWNER}, tenant_id=tenant_id)
        if owners:
            return owners[0]
    return None
