"""Code blocks with colours, by Pygments. A block says its language in its class, as in
`<pre><code class="language-python">`; one without stays as it is.

Pygments' expressions can be slow on hostile text, so a separate process runs them, long blocks and
long lines stay plain, and all blocks of a page share a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from masthead.base.byte_cache import ByteCache
from masthead.base.counters import CACHES
from masthead.base.limited_process import Unavailable
from masthead.content.html.markup import Token, escaped, written
from masthead.faces.reader.lexing import MAX_SECONDS, Run, lexers
from masthead.faces.reader.lexing_process import LexingProcess

MAX_CHARACTERS: Final = 20_000
MAX_LINE: Final = 1_000
MAX_BLOCKS: Final = 200
"""The most blocks of a page; those after them stay plain."""
_PROCESS: Final = LexingProcess()


class Coloured:
    """Colours the blocks of one page. It may wait for another process, so it runs in a thread."""

    def __init__(self) -> None:
        self._seconds = MAX_SECONDS
        self._blocks = 0

    def block(self, language: str, code: str) -> str:
        """Spans for the code; without any where it is too long, or its language unknown."""
        self._blocks += 1
        if self._seconds <= 0 or self._blocks > MAX_BLOCKS or _is_long(code):
            return escaped(code)
        language = language.lower()
        if language not in lexers():
            return escaped(code)
        try:
            shown, seconds = _coloured(language, code)
        except Unavailable:
            # The page's other blocks don't wait for it again.
            self._seconds = 0
            return escaped(code)
        self._seconds -= seconds
        return shown


def _is_long(code: str) -> bool:
    return len(code) > MAX_CHARACTERS or max(map(len, code.split("\n"))) > MAX_LINE


def coloured_block(coloured: Coloured, tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """The `<pre>` at `at` with colours, and the index after it; None where it holds anything but
    code of a named language."""
    after = at + 1
    language = _language(tokens[at])
    code = tokens[after] if after < len(tokens) else None
    has_code = code is not None and code[:2] == ("start", "code")
    if has_code:
        assert code is not None
        language = language or _language(code)
        after += 1
    texts: list[str] = []
    while after < len(tokens) and tokens[after].kind == "text":
        texts.append(tokens[after].name)
        after += 1
    ends = [("end", "code"), ("end", "pre")] if has_code else [("end", "pre")]
    if (
        not language
        or not texts
        or [each[:2] for each in tokens[after : after + len(ends)]] != ends
    ):
        return None
    inside = coloured.block(language, "".join(texts))
    start = written("pre", {"tabindex": "0"}) + written("code", {"class": f"language-{language}"})
    return f"{start}{inside}</code></pre>", after + len(ends)


def _language(token: Token) -> str:
    return token.attributes.get("class", "").removeprefix("language-")


def _coloured(language: str, code: str) -> tuple[str, float]:
    """With the seconds that it took. Plain where it takes too long, which is remembered, too: a
    page that is drawn again must not take the same time again."""
    with _lock:
        known = _cache.read((language, code))
    if known is not None:
        return known
    runs, seconds = _PROCESS.lexed(language, code)
    shown = escaped(code) if runs is None else "".join(_span(run) for run in runs)
    with _lock:
        # Four bytes of a character at most.
        _cache.put((language, code), (shown, seconds), 4 * (len(code) + len(shown)))
    return shown, seconds


_cache: Final[ByteCache[tuple[str, str], tuple[str, float]]] = ByteCache(CACHES["code"])
_lock: Final = threading.Lock()


def _span(run: Run) -> str:
    if not run.shown or not run.text:
        return escaped(run.text)
    return f'<span class="{run.shown}">{escaped(run.text)}</span>'
