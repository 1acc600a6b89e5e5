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
_SHAPE = re.compile(rf"[a-z0-9]{{{LENGTH}}}\Z")


def new_id() -> RecordId:
    number = secrets.randbelow(_SPACE)
    characters = []
    for _ in range(LENGTH):
        number, position = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[position])
    return RecordId("".join(characters))


def is_id(text: str) -> bool:
    return _SHAPE.match(text) is not None
