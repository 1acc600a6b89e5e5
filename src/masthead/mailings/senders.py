"""Whom the emails of a site's newsletters come from: the site's own domain if its records were
found, else the installation's."""

from __future__ import annotations

from masthead.config.settings import Settings
from masthead.ids import TenantId
from masthead.mail.signing_keys import SigningKeys
from masthead.mailings.message import Sender
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.site.address import Sites
from masthead.site.collection import site_settings


class Senders:
    def __init__(
        self, records: Records, sites: Sites, keys: SigningKeys, settings: Settings
    ) -> None:
        self._records = records
        self.sites = sites
        self._keys = keys
        self.installation = settings.mail_from

    async def of(self, tenant_id: TenantId, newsletter: Record) -> Sender:
        domain = await self.own_domain(tenant_id)
        key = await (self._keys.of(tenant_id, domain) if domain else self._keys.of_installation())
        site = await self.sites.of(tenant_id)
        return Sender.of(self.installation, site, newsletter, domain=domain, key=key)

    async def own_domain(self, tenant_id: TenantId) -> str:
        """The site's domain, if the last check of its records found nothing wrong; otherwise ''."""
        for settings in await self._records.find(site_settings, {}, tenant_id=tenant_id):
            if not settings["custom_domain"]:
                return ""
            found = await self._keys.find(tenant_id, settings["custom_domain"])
            if found and found["is_ready"]:
                return str(found["domain"])
        return ""
