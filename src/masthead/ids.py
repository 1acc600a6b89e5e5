"""Record ids: 15 random characters of a-z0-9. Nothing may depend on their order."""

from __future__ import annotations

import os
import re
from typing import NewType

TenantId = NewType("TenantId", str)
RecordId = NewType("RecordId", str)

LENGTH = 15
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_SPACE: int = len(ALPHABET) ** LENGTH
# Two characters at a time: ids are made for every record and every event.
_BYTES = 16
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_SHAPE = re.compile(rf"[a-z0-9]{{{LENGTH}}}\Z")


class _Random:
    """Random numbers from the operating system, fetched for many ids at once."""

    def __init__(self) -> None:
        self._buffer = b""
        self._position = 0
        self._process = 0

    def number(self) -> int:
        if self._position + _BYTES > len(self._buffer) or self._process != os.getpid():
            # A forked child must not repeat its parent's ids.
            self._buffer = os.urandom(_BYTES * 256)
            self._position = 0
            self._process = os.getpid()
        start = self._position
        self._position = start + _BYTES
        # 46 bits more than an id has: no remainder is likelier than another by more than 2^-46.
        return int.from_bytes(self._buffer[start : start + _BYTES]) % _SPACE


_random = _Random()


def new_id() -> RecordId:
    number = _random.number()
    pairs = []
    for _ in range(LENGTH // 2):
        number, position = divmod(number, len(_PAIRS))
        pairs.append(_PAIRS[position])
    return RecordId("".join(pairs) + ALPHABET[number])


def is_id(text: str) -> bool:
    return _SHAPE.match(text) is not None
