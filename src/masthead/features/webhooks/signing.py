"""Signs deliveries in our own scheme and in that of Standard Webhooks.

Both sign the timestamp of the attempt, so a recorded delivery can't be replayed for long.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

import msgspec

TOLERANCE_SECONDS = 300

_STANDARD_PREFIX = "whsec_"


def new_secret() -> str:
    """32 random bytes as 64 hex characters; our scheme's HMAC key is that text."""
    return secrets.token_hex(32)


class Signed(msgspec.Struct, frozen=True):
    """When an attempt was signed, and how in both schemes."""

    timestamp: int
    signature: str
    standard_signature: str


def sign_attempt(secrets_: Sequence[str], delivery_id: str, timestamp: int, body: bytes) -> Signed:
    """With each secret: two during a rotation with overlap, the newer one first."""
    return Signed(
        timestamp,
        ",".join(sign(each, timestamp, body) for each in secrets_),
        " ".join(sign_standard(each, delivery_id, timestamp, body) for each in secrets_),
    )


def signed_headers(signed: Signed, *, event: str, delivery_id: str) -> dict[str, str]:
    """All headers of one attempt but the client's own. The id is the same for all attempts."""
    timestamp = str(signed.timestamp)
    return {
        "Content-Type": "application/json",
        "X-Service-Event": event,
        "X-Service-Delivery": delivery_id,
        "X-Service-Timestamp": timestamp,
        "X-Service-Signature": signed.signature,
        "webhook-id": delivery_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signed.standard_signature,
    }


def sign(secret: str, timestamp: int | str, body: bytes) -> str:
    signed = b"v1:%s:%s" % (str(timestamp).encode(), body)
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def sign_standard(secret: str, message_id: str, timestamp: int | str, body: bytes) -> str:
    # Its libraries take the secret as base64. 64 hex characters are that too: a key of 48 bytes.
    key = base64.b64decode(secret.removeprefix(_STANDARD_PREFIX) + "==")
    signed = b"%s.%s.%s" % (message_id.encode(), str(timestamp).encode(), body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def verify(secret: str, signature: str, timestamp: str, body: bytes, *, now: datetime) -> bool:
    """Verifies X-Service-Signature and X-Service-Timestamp as a receiver does.

    The signature is compared as text, so upper-case hex is refused: we never send it.
    """
    try:
        age_seconds = abs(now.timestamp() - int(timestamp))
    except ValueError:
        return False
    expected = sign(secret, timestamp, body).encode()
    # All are compared, so that the time tells nothing.
    signatures = [each.encode() for each in signature.split(",")]
    is_signed = sum([hmac.compare_digest(expected, each) for each in signatures]) > 0
    return is_signed and age_seconds <= TOLERANCE_SECONDS
