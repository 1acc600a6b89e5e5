"""Carries out `masthead tenant suspend|resume|delete`, with the services that they need."""

from __future__ import annotations

from masthead.base.caller import shell
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.versions import TenantVersions
from masthead.features.privacy.links import Links
from masthead.features.privacy.requests import Requests
from masthead.features.privacy.site_deletion import SiteDeletions
from masthead.features.site import suspension
from masthead.features.site.collection import site_settings
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.outside.mail.outbox import Outbox
from masthead.service.installation import Installation


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
