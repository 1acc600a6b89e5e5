"""Keys derived from the root secrets, and the encryption of secrets at rest.

The first root secret encrypts, all of them decrypt. So an operator rotates by adding a new first
one.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from masthead.base.errors import MastheadError

MIN_ROOT_BYTES = 16
_VERSION = "v1"
_NONCE_BYTES = 12


class DecryptionError(MastheadError):
    """The ciphertext was changed or moved, or its root secret is not configured."""

    message = "A stored secret can't be read with the configured MASTHEAD_SECRET_KEY."


class KeyRing:
    def __init__(self, root_secrets: Sequence[bytes | str]) -> None:
        roots = [root.encode() if isinstance(root, str) else root for root in root_secrets]
        if not roots or any(len(root) < MIN_ROOT_BYTES for root in roots):
            raise ValueError(f"root secrets of at least {MIN_ROOT_BYTES} bytes are needed")
        # Cached, because a request verifies signatures; limited, because some purposes name a
        # tenant.
        self._derive = lru_cache(maxsize=4096)(_derive)
        self._roots = {_key_id(root): root for root in roots}
        self._newest_id = _key_id(roots[0])

    def derive(self, purpose: str) -> bytes:
        """32 bytes for one purpose, such as `sessions` or `unsubscribe/<tenant id>`."""
        return self._derive(self._roots[self._newest_id], purpose)

    def derive_all(self, purpose: str) -> tuple[bytes, ...]:
        """The keys from every root secret, newest first, for verifying."""
        return tuple(self._derive(root, purpose) for root in self._roots.values())

    def encrypt(self, purpose: str, plaintext: str, context: str) -> str:
        """AES-256-GCM. `context` (tenant, collection, record, field) is needed again to decrypt, so
        that a ciphertext copied elsewhere can't be read there."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self.derive(purpose)).encrypt(
            nonce, plaintext.encode(), _bound(purpose, context)
        )
        return f"{_VERSION}.{self._newest_id}.{_to_text(nonce + sealed)}"

    def decrypt(self, purpose: str, ciphertext: str, context: str) -> str:
        key_id, body = _split(ciphertext)
        root = self._roots.get(key_id)
        if root is None:
            raise DecryptionError
        key = self._derive(root, purpose)
        try:
            plaintext = AESGCM(key).decrypt(
                body[:_NONCE_BYTES], body[_NONCE_BYTES:], _bound(purpose, context)
            )
        except (InvalidTag, ValueError) as error:
            raise DecryptionError from error
        return plaintext.decode()

    @property
    def ids(self) -> tuple[str, ...]:
        """They tell root secrets apart and reveal nothing about them."""
        return tuple(self._roots)

    @property
    def is_rotating(self) -> bool:
        """There are older root secrets, which only decrypt."""
        return len(self._roots) > 1

    def renewed(self, purpose: str, ciphertext: str, context: str) -> str:
        """The same secret, encrypted with the newest root secret."""
        return self.encrypt(purpose, self.decrypt(purpose, ciphertext, context), context)

    def needs_rotation(self, ciphertext: str) -> bool:
        """Encrypted with an older root secret, which must not be removed yet."""
        key_id, _ = _split(ciphertext)
        return key_id != self._newest_id


def _derive(root: bytes, purpose: str) -> bytes:
    info = b"masthead/" + purpose.encode()
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(root)


def _key_id(root: bytes) -> str:
    # Derived, so that it reveals nothing about the root secret.
    return _derive(root, "key id")[:4].hex()


def _bound(purpose: str, context: str) -> bytes:
    # With the length ("a", "bc") and ("ab", "c") differ.
    return b"%d:%b%b" % (len(purpose.encode()), purpose.encode(), context.encode())


def _split(ciphertext: str) -> tuple[str, bytes]:
    version, _, rest = ciphertext.partition(".")
    key_id, _, body = rest.partition(".")
    if version != _VERSION:
        raise DecryptionError
    try:
        padded = body.encode("ascii") + b"=" * (-len(body) % 4)
        decoded = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise DecryptionError from error
    # Base64 may have unused bits at its end: only the canonical form is accepted.
    if _to_text(decoded) != body:
        raise DecryptionError
    return key_id, decoded


def _to_text(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()
