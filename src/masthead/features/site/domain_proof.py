"""A site's own domain: an owner requests one, and it is served once its DNS has the proof.

The proof is a TXT record. Its value is derived from the site and the domain, so that it is no use
to another site. `custom_domain`, by which requests find their site, is written only here, or by an
operator: no owner can set it through any API."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from enum import StrEnum

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.base.config.keyring import KeyRing
from masthead.base.errors import Conflict, Invalid
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.site.collection import site_settings
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows
from masthead.outside.outbound.name_server import NameServer, NameServerFailed

LABEL = "_masthead"
EVERY = timedelta(days=7)
"""How often the proof of a served domain is checked again."""
CHECKS = Allowance(
    "domain-checks",
    Limits(per_minute=20, per_hour=600),
    staff_words("Too many checks at once. Try again in a few minutes."),
)
"""Limits of one site. A page that is open checks four times a minute."""
_PURPOSE = "domain-proof"
_CHARACTERS = 32


class Outcome(StrEnum):
    PROVEN = "proven"
    MISSING = "missing"
    """The name has no TXT record."""
    DIFFERENT = "different"
    """It has some, and none of them is the proof."""
    UNREACHABLE = "unreachable"
    TAKEN = "taken"
    """Another site has the domain."""


class TextRecord(msgspec.Struct, frozen=True):
    name: str
    value: str


class DomainProofs(msgspec.Struct, frozen=True):
    records: Records
    keyring: KeyRing
    names: NameServer
    windows: Windows

    def record_of(self, tenant_id: TenantId, domain: str) -> TextRecord:
        """The TXT record that the domain's owner has to set."""
        value = _value(self.keyring.derive(_PURPOSE), tenant_id, domain)
        return TextRecord(f"{LABEL}.{domain}", value)

    async def check(self, caller: Caller, settings: Record) -> Outcome:
        """Looks for the proof of the wanted domain, and serves it from then on if it is there.
        Raises RateLimited."""
        tenant_id, domain = TenantId(settings["tenant_id"]), settings["wanted_domain"]
        await self.windows.take(tenant_id, CHECKS)
        outcome = await self.look(tenant_id, domain)
        if outcome is not Outcome.PROVEN:
            return outcome
        return await self._serve(caller, settings["id"], domain)

    async def look(self, tenant_id: TenantId, domain: str) -> Outcome:
        """Whether the proof is there, without doing anything about it."""
        try:
            found = await self.names.texts(f"{LABEL}.{domain}")
        except NameServerFailed:
            return Outcome.UNREACHABLE
        # With every root secret, so that a record outlives a rotation.
        keys = self.keyring.derive_all(_PURPOSE)
        if not found:
            return Outcome.MISSING
        if not {_value(key, tenant_id, domain) for key in keys}.intersection(found):
            return Outcome.DIFFERENT
        return Outcome.PROVEN

    async def remove(self, caller: Caller, settings: Record) -> None:
        """The site is at its subdomain again."""
        async with self.records.unit(caller) as unit:
            await unit.update(site_settings, settings["id"], {}, stamped={"custom_domain": ""})

    async def points_at(self, tenant_id: TenantId, domain: str, host: str) -> bool:
        """Whether both names have an address in common. Raises RateLimited."""
        await self.windows.take(tenant_id, CHECKS)
        try:
            there, here = await self.names.addresses(domain), await self.names.addresses(host)
        except NameServerFailed:
            return False
        return bool(there & here)

    async def _serve(self, caller: Caller, settings_id: str, domain: str) -> Outcome:
        try:
            async with self.records.unit(caller) as unit:
                [settings] = await unit.find(site_settings, {"id": settings_id}, 1)
                if settings["wanted_domain"] != domain:
                    # Another one is asked for by now.
                    return Outcome.DIFFERENT
                await unit.update(
                    site_settings,
                    settings_id,
                    {"wanted_domain": ""},
                    stamped={
                        "custom_domain": domain,
                        "domain_check_at": clock.to_text(self.records.clock() + EVERY),
                        "domain_missing_since": "",
                    },
                )
        except (Invalid, Conflict):
            return Outcome.TAKEN
        return Outcome.PROVEN


def _value(key: bytes, tenant_id: TenantId, domain: str) -> str:
    digest = hmac.digest(key, f"{tenant_id} {domain}".encode(), hashlib.sha256).hex()
    return f"masthead-site={digest[:_CHARACTERS]}"
