"""Carries out `masthead tenant suspend|resume|delete`, with the services that they need."""

from __future__ import annotations

from masthead.caller import shell
from masthead.errors import NotFound
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.ids import TenantId
from masthead.installation import Installation
from masthead.mail.outbox import Outbox
from masthead.privacy.links import Links
from masthead.privacy.requests import Requests
from masthead.privacy.site_deletion import SiteDeletions
from masthead.records.collection import Record
from masthead.records.versions import TenantVersions
from masthead.site import suspension
from masthead.site.collection import site_settings


async def suspend(parts: Installation, tenant_id: TenantId, reason: str) -> None:
    caller = shell(tenant_id)
    await suspension.suspend(parts.records, _mail(parts), parts.settings, caller, reason=reason)


async def resume(parts: Installation, tenant_id: TenantId) -> bool:
    """Whether a planned deletion was cancelled."""
    tenant = await _tenant(parts, tenant_id)
    is_cancelled = await _deletions(parts).cancel(shell(), tenant)
    if tenant.is_suspended:
        await suspension.lift(parts.records, shell(tenant_id))
    return is_cancelled


async def delete(parts: Installation, tenant_id: TenantId) -> Record:
    return await _deletions(parts).plan(shell(), await _tenant(parts, tenant_id))


async def _tenant(parts: Installation, tenant_id: TenantId) -> Tenant:
    versions = TenantVersions(parts.database)
    found = await TenantDirectory(parts.records, site_settings, versions).by_id(tenant_id)
    if found is None:
        raise NotFound
    return found


def _deletions(parts: Installation) -> SiteDeletions:
    links = Links(parts.settings.base_url)
    return SiteDeletions(parts.records, Requests(parts.records, _mail(parts), parts.sites, links))


def _mail(parts: Installation) -> Outbox:
    return Outbox(parts.database, parts.keyring, parts.settings, parts.records.clock)
