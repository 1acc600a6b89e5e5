"""Deletes a whole site from outside of it: closed at once, erased after the grace period.

A crash between two steps leaves the site closed, or open again, and nothing half-erased. Running
the command again completes it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from masthead.base.caller import Caller, in_tenant
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.audit.collection import CANCELLED_DELETION, PLANNED_DELETION
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.privacy.requests import Requests
from masthead.features.privacy.validation import TENANT, DataRequest, Requester
from masthead.identity.directory import Tenant
from masthead.identity.tenants import TenantStatus, tenants

REASON: Final = words("This site is being deleted.")


class SiteDeletions(msgspec.Struct, frozen=True):
    records: Records
    requests: Requests

    async def plan(self, caller: Caller, tenant: Tenant) -> Record:
        """The request, with the day of the erasure. The owner gets an email about it."""
        inside = in_tenant(caller, tenant.id)
        planned = await self.requests.planned_deletion(tenant.id)
        await self._close(inside)
        if planned is not None:
            return planned
        body = DataRequest(TENANT)
        opened = await self.requests.open_deletion(Requester(tenant, inside, True), body)
        await self._note(caller, PLANNED_DELETION, tenant)
        return opened.request

    async def cancel(self, caller: Caller, tenant: Tenant) -> bool:
        """Whether there was one to cancel. The site stays closed."""
        planned = await self.requests.planned_deletion(tenant.id)
        if planned is None:
            return False
        await self.requests.withdraw(tenant.id, planned["id"], in_tenant(caller, tenant.id))
        await self._note(caller, CANCELLED_DELETION, tenant)
        return True

    async def _close(self, inside: Caller) -> None:
        """A suspension that is there already keeps its reason."""
        async with self.records.unit(inside) as unit:
            [tenant] = await unit.find(tenants, {"id": unit.tenant_id}, limit=1)
            if tenant["status"] != TenantStatus.SUSPENDED:
                given = {"status": TenantStatus.SUSPENDED, "suspension_reason": REASON}
                await unit.update(tenants, unit.tenant_id, given)

    async def _note(self, caller: Caller, action: str, tenant: Tenant) -> None:
        """Also in the service's own log, because the site's log is deleted with the site."""
        async with self.records.unit(in_tenant(caller, TenantId(""))) as unit:
            log_action(unit, action, label=tenant.name)
