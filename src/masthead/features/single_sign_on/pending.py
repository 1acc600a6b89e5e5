"""A sign-in between the way to the provider and the way back.

The browser holds it in a cookie, sealed for its site, so that nothing is stored for people who only
press a button. That it was taken is stored, for all processes: it works once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import timedelta

import msgspec

from masthead.base.clock import Clock
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.features.single_sign_on.errors import StaleSignOn
from masthead.identity.limits.sign_in_throttle import LoginThrottle

PURPOSE = "single sign-on"
LIFETIME = timedelta(minutes=10)
MAX_COOKIE = 4_000


class Pending(msgspec.Struct, frozen=True):
    audience: str
    """Staff or members."""
    provider_id: str
    state: str
    nonce: str
    verifier: str
    onward: str
    """Where to go then: a path of the site's own."""
    expires: int
    connects: str = ""
    """The sign-in of an account that is to be connected; empty for a sign-in."""

    @property
    def challenge(self) -> str:
        """The challenge of PKCE, S256 (RFC 7636)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class PendingSignOns(msgspec.Struct, frozen=True):
    keyring: KeyRing
    throttle: LoginThrottle
    clock: Clock

    def new(self, audience: str, provider_id: str, onward: str, connects: str = "") -> Pending:
        return Pending(
            audience=audience,
            provider_id=provider_id,
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            onward=onward[:1_000],
            expires=int((self.clock() + LIFETIME).timestamp()),
            connects=connects,
        )

    def seal(self, tenant_id: str, pending: Pending) -> str:
        """For the cookie."""
        text = msgspec.json.encode(pending).decode()
        return self.keyring.encrypt(PURPOSE, text, _bound(tenant_id, pending.audience))

    async def take(
        self, tenant_id: str, audience: str, provider_id: str, *, cookie: str, state: str
    ) -> Pending:
        """Raises StaleSignOn for one of another browser, site or provider, one that is too old, and
        one that was taken before."""
        if not cookie or len(cookie) > MAX_COOKIE:
            raise StaleSignOn("The browser has no sign-in that was begun.")
        try:
            text = self.keyring.decrypt(PURPOSE, cookie, _bound(tenant_id, audience))
        except DecryptionError as error:
            raise StaleSignOn("The cookie is not ours, or of another site.") from error
        pending = msgspec.json.decode(text, type=Pending)
        if not hmac.compare_digest(pending.state.encode(), state.encode(errors="replace")):
            raise StaleSignOn("The state is another one.")
        if pending.provider_id != provider_id:
            raise StaleSignOn("It was begun with another provider.")
        if pending.expires <= self.clock().timestamp():
            raise StaleSignOn("It was begun too long ago.")
        if not await self.throttle.take_once(f"sign-on {pending.state}", LIFETIME * 2):
            raise StaleSignOn("It was taken before.")
        return pending


def _bound(tenant_id: str, audience: str) -> str:
    return f"{audience} of {tenant_id}"
