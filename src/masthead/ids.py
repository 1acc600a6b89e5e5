"""Ids: 15 characters of a-z0-9. A record's are random; those of events, deliveries and attempts
begin with their time. Nothing may depend on their order."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from typing import NewType

TenantId = NewType("TenantId", str)
RecordId = NewType("RecordId", str)

LENGTH = 15
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_SHAPE = re.compile(rf"[a-z0-9]{{{LENGTH}}}\Z")

# A random byte is a character; those past the last whole alphabet are left out, so that none is
# likelier than another.
_CHARACTERS = (ALPHABET * 8)[:256].encode()
_UNEVEN = bytes(range(256 - 256 % len(ALPHABET), 256))
_FETCHED = 4_096

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TIME_DIGITS = 8
_TIME_BEGAN_MS = 1_767_225_600_000  # 2026; the digits last for 89 years

_ready: list[str] = []
"""Made for many at once. Taking from a list is atomic, whichever threads do it."""
# A forked child must not repeat its parent's ids.
os.register_at_fork(after_in_child=_ready.clear)


def new_id() -> RecordId:
    while True:
        try:
            return RecordId(_ready.pop())
        except IndexError:
            text = os.urandom(_FETCHED).translate(_CHARACTERS, _UNEVEN).decode()
            whole = len(text) - len(text) % LENGTH
            _ready.extend(text[at : at + LENGTH] for at in range(0, whole, LENGTH))


def new_log_id() -> RecordId:
    """Of a row that is written once and in great numbers: begins with the time, so that those of a
    moment stand together in every index and a write touches one page of it, not any."""
    return RecordId(_time_digits(time.time_ns() // 1_000_000) + new_id()[_TIME_DIGITS:])


@lru_cache(maxsize=2)
def _time_digits(milliseconds: int) -> str:
    left, digits = max(milliseconds - _TIME_BEGAN_MS, 0), ""
    for _ in range(_TIME_DIGITS):
        left, digit = divmod(left, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def is_id(text: str) -> bool:
    return _SHAPE.match(text) is not None
