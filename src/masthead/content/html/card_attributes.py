"""The attributes by which the element of a card is known, and the classes that our style sheets
draw it with. `content/cards/` declares the cards themselves."""

from __future__ import annotations

import re
from typing import Final

CARD: Final = "data-card"
_NAME: Final = re.compile(r"[a-z]{2,20}")
PART_CLASSES: Final = frozenset({"mh-emoji"})
"""Classes of the parts of a card."""
WIDTHS: Final = ("wide", "full")
"""How wide a picture is; as wide as the text without any."""
CROPS: Final = ("1:1", "4:3", "3:2", "16:9", "21:9")
"""The shapes that a picture may be cropped to."""


def class_of(name: str) -> str:
    return f"mh-card mh-{name}"


def card_name(value: str) -> str:
    """'' for what is no name of a card."""
    return value if _NAME.fullmatch(value) else ""


def own_class(value: str) -> str:
    """The classes of parts of cards, among others."""
    if "mh-" not in value:
        return ""
    return " ".join(each for each in value.split() if each in PART_CLASSES)
