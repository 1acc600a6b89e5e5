"""Markdown as Ghost has understood it since its first version."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Final

from markdown_it import MarkdownIt

MAX_LENGTH: Final = 300_000
"""Characters, a thick book. What is longer is shown as it was written."""
# `#Heading` without a blank was one in the editor's early years.
_TIGHT_HEADING: Final = re.compile(r"^(#{1,6})(?=[^#\s])")
_FENCE: Final = re.compile(r"^ {0,3}(```|~~~)")


def render_markdown(text: str) -> str:
    if not text.strip():
        return ""
    if len(text) > MAX_LENGTH:
        return f"<pre>{escape(text, quote=False)}</pre>"
    return str(_renderer().render(_with_loose_headings(text))).strip()


@cache
def _renderer() -> MarkdownIt:
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
