"""Whom the emails of a site's newsletters come from: the site's own domain if its records were
found, else the installation's."""

from __future__ import annotations

from typing import Final

from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.mailings.letter import Letter, Recipient
from masthead.features.mailings.message import Sender
from masthead.features.site.address import Sites
from masthead.features.site.collection import site_settings
from masthead.outside.mail.message import RenderedMail
from masthead.outside.mail.signing_keys import PLATFORM, SigningKeys

NOT_SIGNED: Final = (
    "Emails come from {sender}, but receivers can’t verify that: the operator has not set up the "
    "sending domain. Many of them will treat these emails as spam."
)
NOT_READY: Final = (
    "Emails come from {sender}, which has missing or wrong DNS records. Many receivers will treat "
    "them as spam. {problem}"
)
OWN_NOT_READY: Final = (
    "Emails come from {sender}, not from {domain}: some of its DNS records are missing or wrong. "
    "{problem}"
)


class Senders:
    def __init__(
        self, records: Records, sites: Sites, keys: SigningKeys, settings: Settings
    ) -> None:
        self._records = records
        self.sites = sites
        self._keys = keys
        self.installation = settings.mail_from
        self._is_sent = settings.smtp_url is not None

    async def of(self, tenant_id: TenantId, newsletter: Record) -> Sender:
        domain = await self.own_domain(tenant_id)
        key = await (self._keys.of(tenant_id, domain) if domain else self._keys.of_installation())
        site = await self.sites.of(tenant_id)
        return Sender.of(self.installation, site, newsletter, domain=domain, key=key)

    async def copy(
        self, tenant_id: TenantId, newsletter: Record, letter: Letter, to: str
    ) -> RenderedMail:
        """A letter for someone on the staff, who has nothing to unsubscribe from."""
        site = await self.sites.of(tenant_id)
        own = letter.for_recipient(Recipient(to, "", site.url))
        return RenderedMail(
            to=to,
            subject=own.subject,
            text=own.text,
            html=own.html,
            reply_to=newsletter["reply_to"],
            from_name=newsletter["sender_name"] or site.name,
            from_domain=await self.own_domain(tenant_id),
        )

    async def warning(self, tenant_id: TenantId) -> str:
        """Describes what is wrong with the sender of the site's newsletters, for people who are
        about to send one; '' if nothing is. From the last check: no name server is asked."""
        if not self._is_sent:
            return ""
        sender = self.installation.addr_spec
        own = await self._own(tenant_id)
        if own and own["is_ready"]:
            return ""
        if own:
            problem = own["problem"] or "They have not been checked yet."
            return OWN_NOT_READY.format(sender=sender, domain=own["domain"], problem=problem)
        found = await self._keys.find(PLATFORM, self.installation.domain)
        if found is None:
            return NOT_SIGNED.format(sender=sender)
        if found["is_ready"]:
            return ""
        problem = found["problem"] or "They have not been checked yet."
        return NOT_READY.format(sender=sender, problem=problem)

    async def own_domain(self, tenant_id: TenantId) -> str:
        """The site's domain, if the last check of its records found nothing wrong; otherwise ''."""
        own = await self._own(tenant_id)
        return str(own["domain"]) if own and own["is_ready"] else ""

    async def _own(self, tenant_id: TenantId) -> Record | None:
        """The sending domain of the site's present domain."""
        for settings in await self._records.find(site_settings, {}, tenant_id=tenant_id):
            if settings["custom_domain"]:
                return await self._keys.find(tenant_id, settings["custom_domain"])
        return None
