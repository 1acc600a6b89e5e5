"""Converts comments, which are HTML at the source, to plain text."""

from __future__ import annotations

import re
from typing import Final

from masthead.faces.importers.convert.titles import title_text

MAX_NAME: Final = 100
MAX_BODY: Final = 5_000
NAMELESS: Final = "Anonymous"
_MAX_HTML: Final = 4 * MAX_BODY
_LINE_BREAKS: Final = re.compile(
    r"<br\s*/?>\n?|</?(?:p|div|blockquote|li|ul|ol|pre|h[1-6])(?=[\s/>])[^<>]*>", re.IGNORECASE
)


def comment_text(html: str) -> str:
    """The text of a comment. WordPress has HTML with significant line breaks, Ghost has HTML."""
    lines = _LINE_BREAKS.sub("\n", html[:_MAX_HTML]).split("\n")
    text = "\n".join(title_text(line, MAX_BODY) for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
