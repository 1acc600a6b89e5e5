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
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import Sealed
from masthead.features.single_sign_on.errors import StaleSignOn
from masthead.identity.limits.sign_in_throttle import LoginThrottle

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
    connects: str = ""
    """The sign-in of an account that is to be connected; empty for a sign-in."""

    @property
    def challenge(self) -> str:
        """The challenge of PKCE, S256 (RFC 7636)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


SEALED = Sealed("single sign-on", timedelta(minutes=10), Pending)


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
            connects=connects,
        )

    def seal(self, tenant_id: str, pending: Pending) -> str:
        """For the cookie."""
        bound_to = _bound(tenant_id, pending.audience)
        return SEALED.seal(self.keyring, pending, bound_to, self.clock())

    async def take(
        self, tenant_id: str, audience: str, provider_id: str, *, cookie: str, state: str
    ) -> Pending:
        """Raises StaleSignOn for one of another browser, site or provider, one that is too old, and
        one that was taken before."""
        if not cookie or len(cookie) > MAX_COOKIE:
            raise StaleSignOn("The browser has no sign-in that was begun.")
        bound_to = _bound(tenant_id, audience)
        pending = SEALED.open(self.keyring, cookie, bound_to, self.clock())
        if pending is None:
            raise StaleSignOn("The cookie is not ours, of another site, or too old.")
        if not hmac.compare_digest(pending.state.encode(), state.encode(errors="replace")):
            raise StaleSignOn("The state is another one.")
        if pending.provider_id != provider_id:
            raise StaleSignOn("It was begun with another provider.")
        if not await self.throttle.take_once(f"sign-on {pending.state}", SEALED.lifetime * 2):
            raise StaleSignOn("It was taken before.")
        return pending


def _bound(tenant_id: str, audience: str) -> str:
    return f"{audience} of {tenant_id}"
