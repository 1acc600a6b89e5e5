"""Finds the owner of a tenant, to whom the service sends mail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.identity.tenants import Role, superusers, tenants

Find = Callable[[Collection, Mapping[str, Any]], Awaitable[list[Record]]]


async def owner_of(records: Records, tenant_id: TenantId) -> Record | None:
    """The named owner, otherwise the first one; None if the tenant was erased meanwhile."""
    return await _owner(partial(records.find, tenant_id=tenant_id, limit=1), tenant_id)


async def owner_in(unit: Unit) -> Record | None:
    """The same for the unit's tenant, read in its transaction."""
    return await _owner(partial(unit.find, limit=1), unit.tenant_id)


async def _owner(find: Find, tenant_id: TenantId) -> Record | None:
    named = [each["owner_id"] for each in await find(tenants, {"id": tenant_id})]
    for by in [{"id": each} for each in named if each] + [{}]:
        # The named owner may have another role by now.
        if owners := await find(superusers, {**by, "role": Role.OWNER}):
            return owners[0]
    return None
