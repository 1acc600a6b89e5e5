"""Ids: 15 characters of a-z0-9. Those of records are random; those of rows that are
only added, such as events, deliveries, revisions and the audit log, begin with the time. Nothing
may depend on their order."""

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

# Maps each random byte to a character. Bytes beyond the last whole alphabet are dropped, so that
# all characters have the same probability.
_CHARACTERS = (ALPHABET * 8)[:256].encode()
_UNEVEN = bytes(range(256 - 256 % len(ALPHABET), 256))
_FETCHED = 4_096

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LAST_TWO = tuple(first + second for first in _DIGITS for second in _DIGITS)
_TIME_DIGITS = 8
_TIME_BEGAN_MS = 1_767_225_600_000  # 2026; the digits last for 89 years

_ready: list[str] = []
"""A batch of random ids. `pop` is atomic for threads."""
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
    """For append-only rows in great numbers. It begins with the time, so that concurrent inserts
    hit the same page of each index."""
    return RecordId(_time_digits(time.time_ns() // 1_000_000) + new_id()[_TIME_DIGITS:])


def _time_digits(milliseconds: int) -> str:
    first, last = divmod(max(milliseconds - _TIME_BEGAN_MS, 0), len(_LAST_TWO))
    return _first_digits(first) + _LAST_TWO[last]


@lru_cache(maxsize=2)
def _first_digits(left: int) -> str:
    """They change every 1.3 seconds."""
    digits = ""
    for _ in range(_TIME_DIGITS - 2):
        left, digit = divmod(left, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def is_id(text: str) -> bool:
    return _SHAPE.match(text) is not None
