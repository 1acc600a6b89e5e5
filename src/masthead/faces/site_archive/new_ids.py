"""The ids of a site's records in another installation.

Each is a keyed digest of the old one, with a key that only this import has: so the same id becomes
the same one wherever it stands, without a table of all ids, and an archive can't name a record
that is there already.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from masthead.base import ids

_KEY_BYTES: Final = 32
_BASE: Final = len(ids.ALPHABET)


class NewIds:
    def __init__(self, key: bytes = b"") -> None:
        self._key = key or secrets.token_bytes(_KEY_BYTES)

    def of(self, old: str) -> str:
        """Whatever is no id stays as it is: an empty field, a word such as `system`."""
        if not ids.is_id(old):
            return old
        digest = hashlib.blake2b(old.encode(), key=self._key, digest_size=16).digest()
        left, characters = int.from_bytes(digest), ""
        for _ in range(ids.LENGTH):
            left, digit = divmod(left, _BASE)
            characters += ids.ALPHABET[digit]
        return characters
