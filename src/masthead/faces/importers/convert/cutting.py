"""Cuts text to a length without splitting a character from its accents, or an emoji."""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_LONGEST_CLUSTER: Final = 32


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, without blanks at the end."""
    if len(text) <= limit:
        return text
    end = limit
    lowest = max(0, limit - _LONGEST_CLUSTER)
    while end > lowest and (_continues(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return text[: end if end > lowest else limit].rstrip()


def _continues(character: str) -> bool:
    """Whether it modifies the character before: accents, joiners, variation selectors, skin
    tones."""
    return (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
