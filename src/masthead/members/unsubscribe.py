"""Unsubscribing by a link in an email: the token is the credential, no session is needed."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from urllib.parse import quote

from masthead.caller import system
from masthead.config.keyring import KeyRing
from masthead.email_address import normal_email
from masthead.errors import NotFound
from masthead.ids import TenantId
from masthead.members.collection import blog_members
from masthead.records.engine import Records

PATH = "/member/unsubscribe"


def unsubscribe_token(key: bytes, email: str) -> str:
    return hmac.new(key, email.encode(), hashlib.sha256).hexdigest()


class Unsubscribe:
    def __init__(self, records: Records, keyring: KeyRing) -> None:
        self._records = records
        self._keyring = keyring

    def url(self, site_url: str, tenant_id: TenantId, email: str) -> str:
        """For an email to this reader; `site_url` is the tenant's own."""
        email = normal_email(email)
        token = unsubscribe_token(self._keyring.derive(_purpose(tenant_id)), email)
        return f"{site_url}{PATH}?email={quote(email, safe='')}&token={token}"

    def is_genuine(self, tenant_id: TenantId, email: str, token: str) -> bool:
        """In constant time, and with every root secret: old emails outlive a rotation."""
        given = token.encode(errors="replace")
        email = normal_email(email)
        keys = self._keyring.derive_all(_purpose(tenant_id))
        matches = [
            hmac.compare_digest(unsubscribe_token(key, email).encode(), given) for key in keys
        ]
        return any(matches)

    async def unsubscribe(self, tenant_id: TenantId, email: str) -> None:
        """Does nothing for an address that is not subscribed.

        Runs as the service itself, so that it also works while a site is read-only.
        """
        found = await self._records.find(
            blog_members, {"email": normal_email(email)}, tenant_id=tenant_id
        )
        if found:
            with contextlib.suppress(NotFound):
                await self._records.update(
                    system(tenant_id), blog_members, found[0]["id"], {"newsletter": False}
                )


def _purpose(tenant_id: TenantId) -> str:
    return f"unsubscribe/{tenant_id}"
