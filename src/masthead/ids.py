"""Record ids: 15 random characters of a-z0-9. Nothing may depend on their order."""

from __future__ import annotations

import re
import secrets
from typing import NewType

TenantId = NewType("TenantId", str)
RecordId = NewType("RecordId", str)

LENGTH = 15
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_SPACE = len(ALPHABET) ** LENGTH
# Two characters at a time: ids are made for every record and every event.
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_SHAPE = re.compile(rf"[a-z0-9]{{{LENGTH}}}\Z")


def new_id() -> RecordId:
    number = secrets.randbelow(_SPACE)
    pairs = []
    for _ in range(LENGTH // 2):
        number, position = divmod(number, len(_PAIRS))
        pairs.append(_PAIRS[position])
    return RecordId("".join(pairs) + ALPHABET[number])


def is_id(text: str) -> bool:
    return _SHAPE.match(text) is not None
