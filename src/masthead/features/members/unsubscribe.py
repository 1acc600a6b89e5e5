"""Unsubscribing by a link in an email: the token is the credential, no session is needed."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from masthead.base.caller import system
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.email_address import normal_email
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.members.collection import MAX_OFF, blog_members
from masthead.features.members.newsletters import MAX_SLUG, newsletters
from masthead.features.site.collection import MAX_FORMER_KEYS, site_settings

PATH = "/member/unsubscribe"
_KEYS = re.compile(r"\b[0-9a-f]{64}\b")


def link_keys(keyring: KeyRing, tenant_id: TenantId) -> tuple[bytes, ...]:
    """Newest first: one for each root secret."""
    return keyring.derive_all(_purpose(tenant_id))


def former_keys(records: Records, settings: Record) -> list[bytes]:
    """Those that came along when the site was moved. Raises DecryptionError."""
    found = _KEYS.findall(records.reveal(site_settings, settings, "former_link_keys"))
    return [bytes.fromhex(each) for each in found]


def keys_to_move(records: Records, keyring: KeyRing, settings: Record) -> str:
    """For `former_link_keys` in another installation. Raises DecryptionError."""
    own = link_keys(keyring, TenantId(settings["tenant_id"]))
    found = dict.fromkeys([*own, *former_keys(records, settings)])
    return " ".join(each.hex() for each in list(found)[:MAX_FORMER_KEYS])


def unsubscribe_token(key: bytes, email: str) -> str:
    return hmac.new(key, email.encode(), hashlib.sha256).hexdigest()


class Unsubscribe:
    def __init__(self, records: Records, keyring: KeyRing) -> None:
        self._records = records
        self._keyring = keyring

    def url(self, site_url: str, tenant_id: TenantId, email: str) -> str:
        """For an email to this reader; `site_url` is the tenant's own."""
        return self.urls(site_url, tenant_id)(email)

    def urls(self, site_url: str, tenant_id: TenantId) -> Callable[[str], str]:
        """The links of many readers, by address."""
        key = self._keyring.derive(_purpose(tenant_id))

        def url(email: str) -> str:
            email = normal_email(email)
            token = unsubscribe_token(key, email)
            return f"{site_url}{PATH}?email={quote(email, safe='')}&token={token}"

        return url

    async def is_genuine(self, tenant_id: TenantId, email: str, token: str) -> bool:
        """In constant time, and with every root secret and the keys of former installations: old
        emails outlive a rotation and a move."""
        given = token.encode(errors="replace")
        email = normal_email(email)
        keys = [*link_keys(self._keyring, tenant_id), *await self._former_keys(tenant_id)]
        matches = [
            hmac.compare_digest(unsubscribe_token(key, email).encode(), given) for key in keys
        ]
        return any(matches)

    async def _former_keys(self, tenant_id: TenantId) -> list[bytes]:
        found = await self._records.find_one(site_settings, {}, tenant_id=tenant_id)
        try:
            return former_keys(self._records, found) if found else []
        except DecryptionError:
            return []

    async def newsletter(self, tenant_id: TenantId, slug: str) -> Record | None:
        """The one of the link, if the site has others as well."""
        if not slug or len(slug) > MAX_SLUG:
            return None
        found = await self._records.find_one(newsletters, {"slug": slug}, tenant_id=tenant_id)
        several = await self._records.find(newsletters, {}, tenant_id=tenant_id, limit=2)
        return found if found and len(several) > 1 else None

    async def unsubscribe(
        self, tenant_id: TenantId, email: str, newsletter: Record | None = None
    ) -> None:
        """From all newsletters, or from one. Does nothing for an address that is not subscribed.

        Runs as the service itself, so that it also works while a site is read-only.
        """
        async with self._records.unit(system(tenant_id)) as unit:
            for member in await unit.find(blog_members, {"email": normal_email(email)}, limit=1):
                changes: dict[str, Any] = {"newsletter": False}
                if newsletter is not None:
                    off = dict.fromkeys([*member["newsletters_off"], newsletter["slug"]])
                    changes = {"newsletters_off": list(off)[-MAX_OFF:]}
                await unit.update(blog_members, member["id"], changes)


def _purpose(tenant_id: TenantId) -> str:
    return f"unsubscribe/{tenant_id}"
