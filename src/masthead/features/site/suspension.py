"""Suspends a site and opens it again. What it answers meanwhile is in the policies of routes."""

from __future__ import annotations

from masthead.base.caller import Caller
from masthead.base.config.settings import Settings
from masthead.engine.records.engine import Records
from masthead.features.site.address import site_in
from masthead.identity.owners import owner_in
from masthead.identity.tenants import TenantStatus, tenants
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox


async def suspend(
    records: Records, mail: Outbox, settings: Settings, caller: Caller, *, reason: str
) -> None:
    """The caller is an operator in the site. The owner gets an email with the reason; of another
    reason of the same suspension none."""
    async with records.unit(caller) as unit:
        [before] = await unit.find(tenants, {"id": unit.tenant_id}, limit=1)
        given = {"status": TenantStatus.SUSPENDED, "suspension_reason": reason}
        await unit.update(tenants, unit.tenant_id, given)
        owner = await owner_in(unit)
        if owner is None or before["status"] == TenantStatus.SUSPENDED:
            return
        site = await site_in(unit, settings)
        own = site.for_staff(owner)
        values = {"reason": reason, "link": f"{site.url}/admin"}
        await mail.queue(unit, write_email("site_suspended", own, owner["email"], **values))


async def lift(records: Records, caller: Caller) -> None:
    async with records.unit(caller) as unit:
        await unit.update(tenants, unit.tenant_id, {"status": TenantStatus.ACTIVE})
