"""Mutants that no test can find, as they do what the code does, each with the reason.

A mutant is named by the lines that it changes, so it is still known when code is added above it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explained:
    file: str
    """Below `src/masthead/`."""
    old: str
    """The line as it is, without indentation."""
    new: tuple[str, ...]
    """Lines that mutants have in its place."""
    because: str


_NAME_OF_DIGEST = "OpenSSL knows its digests in upper and lower case."

EXPLAINED = (
    Explained(
        "features/webhooks/signing.py",
        "return secrets.token_hex(32)",
        ("return secrets.token_hex(None)",),
        "Python's own number of bytes is 32, too. We name ours, as it may change.",
    ),
    Explained(
        "features/webhooks/signing.py",
        'return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()',
        ('return "v1," + base64.b64encode(hmac.digest(key, signed, "SHA256")).decode()',),
        _NAME_OF_DIGEST,
    ),
    Explained(
        "features/payments/signatures.py",
        'return hmac.digest(secret.encode(), signed, "sha256").hex()',
        ('return hmac.digest(secret.encode(), signed, "SHA256").hex()',),
        _NAME_OF_DIGEST,
    ),
)
