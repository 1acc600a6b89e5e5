"""Who answers for a tenant: the one to write to."""

from __future__ import annotations

from masthead.identity.tenants import superusers, tenants
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.records.engine import Records


async def owner_of(records: Records, tenant_id: TenantId) -> Record | None:
    """The named owner, else the first administrator; None when the tenant has just been erased."""
    found = await records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id)
    named = [each["owner_id"] for each in found if each["owner_id"]]
    by = {"id": named[0]} if named else {}
    owners = await records.find(superusers, by, tenant_id=tenant_id)
    return owners[0] if owners else None
