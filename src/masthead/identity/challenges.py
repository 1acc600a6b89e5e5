"""Challenges of passkeys: random, for one purpose, of a few minutes, and each taken once.

The page holds the challenge, sealed for whom it was made, so that nothing is stored for people who
only look at a page. That it was taken is stored, for all processes.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

import msgspec

from masthead.base.clock import Clock
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import Sealed
from masthead.base.errors import BadRequest
from masthead.base.languages.words import staff_words
from masthead.identity.limits.sign_in_throttle import LoginThrottle

SEALED = Sealed("passkey challenge", timedelta(minutes=10), bytes)


class StaleChallenge(BadRequest):
    message = staff_words("The page was open for too long, or it was used already. Try again.")


class Challenge(msgspec.Struct, frozen=True):
    value: bytes
    sealed: str
    """For a hidden field of the form."""


class Challenges(msgspec.Struct, frozen=True):
    keyring: KeyRing
    throttle: LoginThrottle
    clock: Clock

    def new(self, bound_to: str) -> Challenge:
        """`bound_to`: what it is for, and whom it was made for."""
        value = secrets.token_bytes(32)
        return Challenge(value, SEALED.seal(self.keyring, value, bound_to, self.clock()))

    async def take(self, sealed: str, bound_to: str) -> bytes:
        """Raises StaleChallenge for one that is too old, of another purpose, or taken before."""
        value = SEALED.open(self.keyring, sealed, bound_to, self.clock())
        if value is None:
            raise StaleChallenge
        if not await self.throttle.take_once(hashlib.sha256(value).hexdigest(), SEALED.lifetime):
            raise StaleChallenge
        return value
