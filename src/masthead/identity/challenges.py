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
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.errors import BadRequest
from masthead.identity.limits.sign_in_throttle import LoginThrottle

PURPOSE = "passkey challenge"
LIFETIME = timedelta(minutes=10)


class StaleChallenge(BadRequest):
    message = "The page was open for too long, or it was used already. Try again."


class _Sealed(msgspec.Struct):
    challenge: bytes
    expires: int


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
        expires = int((self.clock() + LIFETIME).timestamp())
        text = msgspec.json.encode(_Sealed(value, expires)).decode()
        return Challenge(value, self.keyring.encrypt(PURPOSE, text, bound_to))

    async def take(self, sealed: str, bound_to: str) -> bytes:
        """Raises StaleChallenge for one that is too old, of another purpose, or taken before."""
        try:
            text = self.keyring.decrypt(PURPOSE, sealed, bound_to)
        except DecryptionError as error:
            raise StaleChallenge from error
        found = msgspec.json.decode(text, type=_Sealed)
        digest = hashlib.sha256(found.challenge).hexdigest()
        is_fresh = found.expires > self.clock().timestamp()
        if not is_fresh or not await self.throttle.take_once(digest, LIFETIME):
            raise StaleChallenge
        return found.challenge
