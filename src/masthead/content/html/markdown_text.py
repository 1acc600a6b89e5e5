"""Text in Markdown."""

from __future__ import annotations

import re
from typing import Final

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>|~]|&(?=#?\w+;)")


def escaped_text(text: str) -> str:
    """Text in which nothing is taken for a mark of Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", text)
