"""The name and base URL of a tenant's site, for emails and pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.content.texts.languages import editions_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.site.collection import site_settings
from masthead.identity.tenants import tenants


class Site(msgspec.Struct, frozen=True):
    name: str
    url: str
    """Without a trailing slash."""
    language: str = "en"
    """A BCP 47 tag."""
    editions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Its languages: see `content/texts/languages.py`."""

    def of_edition(self, edition: str) -> Site:
        """The site in the language of a text."""
        return replace(self, language=self.editions.get(edition, self.language))

    def for_member(self, member: Mapping[str, Any]) -> Site:
        """In the language of a member, if it is one of the site's."""
        return self.of_edition(self.edition_of(member))

    def for_staff(self, account: Mapping[str, Any]) -> Site:
        """In the language that someone on the staff has chosen."""
        return replace(self, language=account.get("language") or self.language)

    def edition_of(self, member: Mapping[str, Any]) -> str:
        edition = str(member.get("language", "")).lower()
        return edition if edition in self.editions else ""


async def site_in(unit: Unit, settings: Settings) -> Site:
    """The unit's tenant, read in its transaction."""
    [tenant] = await unit.find(tenants, {"id": unit.tenant_id}, limit=1)
    return _site(settings, tenant, await unit.find_one(site_settings, {}))


class Sites:
    def __init__(self, records: Records, settings: Settings) -> None:
        self._records = records
        self._settings = settings

    async def of(self, tenant_id: TenantId) -> Site:
        if not tenant_id:
            # An operator's account belongs to the platform.
            return Site("Masthead", self._settings.base_url.rstrip("/"))
        found = await self._records.require(tenants, {"id": tenant_id}, tenant_id=tenant_id)
        stored = await self._records.find_one(site_settings, {}, tenant_id=tenant_id)
        return _site(self._settings, found, stored)


def _site(settings: Settings, tenant: Record, stored: Record | None) -> Site:
    shown = stored or {"site_name": "", "custom_domain": "", "language": "", "languages": []}
    url = site_url(settings, tenant["slug"], shown["custom_domain"])
    editions = editions_of(shown)
    return Site(shown["site_name"] or tenant["name"], url, editions[""], editions)


def with_origin(record: Record, collection: Collection, origin: str) -> Record:
    """The record with whole addresses, where its collection stores paths of the site's own."""
    whole = {name: origin + record[name] for name in collection.site_addresses if record.get(name)}
    return {**record, **whole} if whole else record


def site_url(settings: Settings, slug: str, custom_domain: str = "") -> str:
    """From stored values, never from the request: a forged Host header must not get into a link."""
    if slug == settings.default_tenant and not custom_domain:
        return settings.base_url.rstrip("/")
    scheme, port = _scheme_and_port(settings.base_url)
    return f"{scheme}://{custom_domain or f'{slug}.{settings.base_domain}'}{port}"


@lru_cache(maxsize=8)
def _scheme_and_port(base_url: str) -> tuple[str, str]:
    """Cached: an answer with one post needs them, and splitting takes longer than the rest."""
    base = urlsplit(base_url)
    return base.scheme, f":{base.port}" if base.port else ""
