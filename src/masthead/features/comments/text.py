"""The text of a comment: cleaned of characters that hide or disguise something, and checked for
the marks of spam. Comments are plain text; pages turn its addresses into links."""

from __future__ import annotations

import re
from typing import Final

LINK: Final = re.compile(r"https?://[^\s<>\"'`\u200b]+", re.IGNORECASE)
_COUNTED: Final = re.compile(r"https?://|www\.|\[url", re.IGNORECASE)
_AROUND_LINKS: Final = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
# Control characters, and those that turn the direction of what follows around or are not seen.
# Joiners stay: many scripts and emoji need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
    "|[\U000e0000-\U000e0fff]"
)
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def clean_text(text: str) -> str:
    """Paragraphs with one blank line between them."""
    # Line by line: an expression for blanks before a line end would look at every run of blanks
    # once for each of them.
    lines = [line.rstrip(" \t") for line in _HIDDEN.sub("", text).split("\n")]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def clean_name(name: str) -> str:
    """On one line."""
    return " ".join(_HIDDEN.sub(" ", name).split())


def comparable_name(name: str) -> str:
    """Equal for names that readers would take for the same."""
    return "".join(clean_name(name).casefold().split())


def count_links(text: str) -> int:
    return len(_COUNTED.findall(text))


def is_links_alone(text: str) -> bool:
    return bool(count_links(text)) and not any(map(str.isalnum, _AROUND_LINKS.sub("", text)))
