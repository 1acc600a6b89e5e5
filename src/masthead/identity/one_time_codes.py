"""Codes of authenticator apps (TOTP, RFC 6238) and recovery codes: how they are made and matched.

Nothing here reads or writes: `second_step` does, in one transaction, so that a code counts once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime

STEP_SECONDS = 30
DRIFT = 1
"""A phone's clock may be so many steps off."""
RECOVERY_CODES = 10
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without characters that are taken for others on paper."""
_GROUPS, _GROUP = 6, 4
_EARLIER_GROUPS = 4
_TOTP = re.compile(r"[0-9]{6}\Z")
_RECOVERY = re.compile(
    rf"(?:[{_ALPHABET}]{{{_GROUPS * _GROUP}}}|[{_ALPHABET}]{{{_EARLIER_GROUPS * _GROUP}}})\Z"
)


def new_totp_secret() -> str:
    """160 bits, as RFC 4226 recommends, in base32."""
    # Imported where it is needed: few requests and no command do.
    import pyotp

    return pyotp.random_base32(32)


def totp_uri(secret: str, *, account: str, issuer: str) -> str:
    """The address that an authenticator app reads from the QR code."""
    import pyotp

    return pyotp.TOTP(secret).provisioning_uri(account, issuer_name=issuer)


def matching_step(secret: str, code: str, now: datetime, after: int) -> int | None:
    """The step of a code that is right now and later than the last one that was accepted."""
    import pyotp

    typed = _plain(code)
    if not _TOTP.match(typed):
        return None
    totp = pyotp.TOTP(secret)
    current = int(now.timestamp()) // STEP_SECONDS
    steps = range(current - DRIFT, current + DRIFT + 1)
    # All are compared, so that the time says nothing.
    found = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), typed)]
    return next((step for step in found if step > after), None)


def new_recovery_codes() -> list[str]:
    """118 bits each, in groups that can be copied from paper."""
    return ["-".join(_group() for _ in range(_GROUPS)) for _ in range(RECOVERY_CODES)]


def hash_recovery_code(code: str, account_id: str) -> str:
    """A plain digest is enough for more than 112 bits, which nobody can try one by one; the account
    makes it its own."""
    return hashlib.sha256(f"{account_id} {_plain(code)}".encode()).hexdigest()


def matching_hash(code: str, account_id: str, hashes: Sequence[str]) -> str:
    """The stored digest of a recovery code; empty if there is none."""
    if not _RECOVERY.match(_plain(code)):
        return ""
    given = hash_recovery_code(code, account_id)
    found = [each for each in hashes if hmac.compare_digest(each, given)]
    return found[0] if found else ""


def _group() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP))


def _plain(code: str) -> str:
    return re.sub(r"[\s-]", "", code[:100]).lower()
