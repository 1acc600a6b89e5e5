"""Renders Markdown in the dialect of Ghost."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_LENGTH: Final = 100_000
"""Characters, forty printed pages. The parser takes seconds for hostile text of ten times that
length. Longer text is shown unrendered."""
# `#Heading` without a blank was a heading in early versions.
_TIGHT_HEADING: Final = re.compile(r"^(#{1,6})(?=[^#\s])")
_DEFINITION: Final = re.compile(r"^[ >]{0,20}\[[^\n]*", re.MULTILINE)
_MARKS: Final = "[*_`~!<&|#"
_ALWAYS_ALLOWED: Final = 1_000
_MAX_REFERRED: Final = 20_000_000
_FENCE: Final = re.compile(r"^ {0,3}(```|~~~)")


def render_markdown(text: str) -> str:
    if not text.strip():
        return ""
    if len(text) > MAX_LENGTH or _could_explode(text):
        return f"<pre>{escape(text, quote=False)}</pre>"
    return str(_renderer().render(_with_loose_headings(text))).strip()


def _could_explode(text: str) -> bool:
    """A long address that is defined once may be referenced thousands of times, and text of
    special characters only takes the parser seconds."""
    if sum(text.count(mark) for mark in _MARKS) > max(_ALWAYS_ALLOWED, len(text) // 3):
        return True
    longest = max(map(len, _DEFINITION.findall(text)), default=0)
    return longest * text.count("[") > _MAX_REFERRED


@cache
def _renderer() -> MarkdownIt:
    # Imported here, because only posts of old versions need it.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"breaks": True}).enable(["table", "strikethrough"])


def _with_loose_headings(text: str) -> str:
    if "#" not in text:
        return text
    lines, fence = text.split("\n"), ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            lines[number] = _TIGHT_HEADING.sub(r"\1 ", line)
    return "\n".join(lines)
