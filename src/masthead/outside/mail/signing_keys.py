"""The keys that sign emails: one for each domain that emails are sent from, made once."""

from __future__ import annotations

import asyncio
from typing import Final

from masthead.base.caller import Caller
from masthead.base.config.keyring import DecryptionError
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.outside.mail.collection import sending_domains
from masthead.outside.mail.message import SigningKey
from masthead.outside.mail.signing import make_key_pair

PLATFORM: Final = TenantId("")
"""The installation's own domain belongs to no site."""


class SigningKeys:
    def __init__(self, records: Records, settings: Settings) -> None:
        self._records = records
        self.installation_domain = settings.mail_from.domain

    async def of_installation(self) -> SigningKey | None:
        return await self.of(PLATFORM, self.installation_domain)

    async def of(self, tenant_id: TenantId, domain: str) -> SigningKey | None:
        """None if the domain has no key. Read every time, so that all processes sign with a key as
        soon as it is made."""
        record = await self.find(tenant_id, domain)
        return self._revealed(record) if record else None

    async def find(self, tenant_id: TenantId, domain: str) -> Record | None:
        """The domain's record in `sending_domains`."""
        return await self._records.find_one(
            sending_domains, {"domain": domain}, tenant_id=tenant_id
        )

    async def make(self, caller: Caller, domain: str) -> Record:
        """The domain's record, with a new key if it has none. A caller without a site makes that
        of the installation."""
        tenant_id = caller.tenant_id or PLATFORM
        if known := await self.find(tenant_id, domain):
            return known
        pair = await asyncio.to_thread(make_key_pair)
        async with self._records.unit(caller) as unit:
            # Another request may have made one meanwhile.
            for known in await unit.find(sending_domains, {"domain": domain}, limit=1):
                return known
            values = {
                "domain": domain,
                "selector": _selector(unit.now),
                "public_key": pair.public_key,
                "private_key": pair.private_key,
            }
            return await unit.create(sending_domains, {}, stamped=values)

    async def renew(self, caller: Caller, domain: str) -> None:
        """Another key. The domain is not ready until its record is found."""
        pair = await asyncio.to_thread(make_key_pair)
        async with self._records.unit(caller) as unit:
            for known in await unit.find(sending_domains, {"domain": domain}, limit=1):
                values = {
                    "selector": _next_selector(unit.now, known["selector"]),
                    "public_key": pair.public_key,
                    "private_key": pair.private_key,
                    "is_ready": False,
                    "problem": "",
                    "checked_at": "",
                }
                await unit.update(sending_domains, known["id"], {}, stamped=values)

    def _revealed(self, record: Record) -> SigningKey | None:
        try:
            private_key = self._records.reveal(sending_domains, record, "private_key")
        except DecryptionError:
            # `masthead doctor` says so, too. An email without a signature is better than none.
            log.error("mail.key_unreadable", domain=record["domain"])
            return None
        return SigningKey(record["domain"], record["selector"], private_key)


def _selector(now: str) -> str:
    return f"mh{now[:10].replace('-', '')}"


def _next_selector(now: str, last: str) -> str:
    """Another name, so that emails which were signed with the last key can still be verified."""
    first = _selector(now)
    if not last.startswith(first):
        return first
    number = last.removeprefix(first).lstrip("-") or "1"
    return f"{first}-{int(number) + 1}"
