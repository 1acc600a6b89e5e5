"""One DKIM signature (RFC 6376), with dkimpy's canonical forms and OpenSSL's RSA.

The library's own RSA is written in Python and takes three times as long.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any, Final

import dkim
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

# Not Date and Message-ID: some providers, Amazon SES among them, replace both.
# The two of List-Unsubscribe must be signed, or no mail program shows its button (RFC 8058).
SIGNED: Final = (
    *(b"from", b"to", b"subject", b"reply-to", b"mime-version", b"content-type"),
    *(b"list-id", b"list-unsubscribe", b"list-unsubscribe-post", b"auto-submitted"),
)
CLOSED: Final = (b"from", b"to", b"subject", b"reply-to", b"content-type")
"""Signed once more than they are there: a second one that is added breaks the signature."""
_CANONICAL: Final = (b"relaxed", b"simple")
"""The body as it is: its lines are encoded, and so of ASCII and without blanks at their ends."""


def sign(private_key: str, domain: str, selector: str, content: bytes) -> bytes:
    """The message with its signature as the first header field."""
    head, _, body = content.partition(b"\r\n\r\n")
    message = _Message(head + b"\r\n\r\n", _loaded(private_key))
    # Not parsed with the head: the library would split it into lines.
    message.body = body
    names = [name.lower() for name, _ in message.headers]
    signature: bytes = message.sign(
        selector.encode(),
        domain.encode(),
        private_key.encode(),
        canonicalize=_CANONICAL,
        include_headers=[*(each for each in SIGNED if each in names), *CLOSED],
    )
    return signature + content


class _Message(dkim.DKIM):  # type: ignore[misc]
    def __init__(self, head: bytes, key: RSAPrivateKey) -> None:
        super().__init__(head)
        self._key = key

    def gen_header(
        self,
        fields: list[tuple[bytes, bytes]],
        include_headers: tuple[bytes, ...],
        canon_policy: Any,
        header_name: bytes,
        pk: Any,
        standardize: bool = False,
    ) -> bytes:
        """As in the library, but for the one call that signs."""
        unsigned = dkim.RE_BTAG.sub(rb"\1", _folded(fields, header_name))
        digest = dkim.HashThrough(hashlib.sha256())
        headers = canon_policy.canonicalize_headers(self.headers)
        own = (header_name, b" " + unsigned)
        dkim.hash_headers(digest, canon_policy, headers, include_headers, own, dict(fields))
        signature = self._key.sign(digest.digest(), PKCS1v15(), Prehashed(SHA256()))
        signed = [*fields[:-1], (b"b", base64.b64encode(signature))]
        return _folded(signed, header_name) + b"\r\n"


def _folded(fields: list[tuple[bytes, bytes]], header_name: bytes) -> bytes:
    value = b"; ".join(b"=".join(each) for each in fields)
    folded: bytes = dkim.fold(value, namelen=len(header_name), linesep=b"\r\n")
    return folded


@lru_cache(maxsize=256)
def _loaded(private_key: str) -> RSAPrivateKey:
    key = load_pem_private_key(private_key.encode(), None)
    assert isinstance(key, RSAPrivateKey)
    return key
