"""The clean rendering of a text: made once, when the text is saved, and shown wherever a reader
sees it. The original is stored next to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from masthead.base.turns import Turns
from masthead.content.html.effort import FEW_TAGS
from masthead.content.html.foreign_html import presanitized
from masthead.content.html.markup import (
    PAYWALL_COMMENT,
    PAYWALL_MARK,
    cleaned_or_plain,
    depth_of,
    restricted,
)
from masthead.content.html.sanitizer import TooCostly, sanitized
from masthead.storage.cancelling import complete

RULES: Final = 2
"""The number of the present rules of cleaning. A change of the rules takes the next number and adds
a migration that queues `texts.clean` for every site; until a text is cleaned again, each page that
shows it cleans it."""

MAX_DEPTH: Final = 250
"""More than the deepest document of the editor has."""
SMALL: Final = 4_000
"""Characters that take the event loop at most some milliseconds, if they have few tags."""

# What editors write by hand, and what Ghost and WordPress leave.
_MARKER: Final = re.compile(r"<!--\s{0,20}(?:more|members-only)[^<>]{0,200}-->", re.IGNORECASE)
# Most of the short texts that programs send: blocks of words, with no attribute. The sanitizer
# would return them as they are. Looking for single characters takes a fraction of the time that a
# regular expression takes for a set of them.
_NOT_PLAIN: Final = ("&", "\r", "\xa0", "\0", PAYWALL_MARK)
_WORDS: Final = r"[^<]*+"
_PLAIN: Final = re.compile(
    rf"{_WORDS}(?:<(p|h[1-6])>{_WORDS}(?:<(strong|em|b|i|s|u|code|mark|sub|sup)>{_WORDS}</\2>"
    rf"{_WORDS})*+</\1>{_WORDS})*+"
)
# Two, so that one costly text does not hold up all others.
_threads: Final = ThreadPoolExecutor(2, thread_name_prefix="html")
_turns: Final = Turns(2)

T = TypeVar("T")


async def clean(html: str) -> str:
    """Raises TooCostly, with a sentence for the author, and RateLimited if too many texts wait."""
    if _is_quick(html):
        return cleaned_text(html)
    async with _turns.turn():
        return await _in_thread(partial(cleaned_text, html))


async def clean_or_plain(html: str) -> str:
    """The clean text, or only the words of a text beyond the limits that was stored before there
    were any."""
    return (await clean_all_or_plain([html]))[0]


async def clean_all_or_plain(texts: Sequence[str]) -> list[str]:
    def work() -> list[str]:
        return [cleaned_or_plain_text(html) for html in texts]

    return work() if _is_quick("".join(texts)) else await _in_thread(work)


def _is_quick(html: str) -> bool:
    """Whether it is sure to need no process: one that has to start, or is busy with another text,
    must not be waited for in the event loop."""
    return len(html) <= SMALL and (html.count("<") <= FEW_TAGS or is_plain(html))


def is_plain(html: str) -> bool:
    # Each `<` that matches has its `>`: as many of both leave none in the words.
    if html.count("<") != html.count(">"):
        return False
    for each in _NOT_PLAIN:
        if each in html:
            return False
    return _PLAIN.fullmatch(html) is not None


async def _in_thread(work: Callable[[], T]) -> T:
    # To its end: only then the turn of another text comes.
    return await complete(asyncio.get_running_loop().run_in_executor(_threads, work))


def cleaned_text(html: str) -> str:
    if is_plain(html):
        return html
    safe, tokens = restricted(sanitized(presanitized(_marked(html))))
    if len(html) > MAX_DEPTH and depth_of(tokens) > MAX_DEPTH:
        raise TooCostly(f"Its elements are nested more than {MAX_DEPTH} deep.")
    return safe


def cleaned_or_plain_text(html: str) -> str:
    return cleaned_or_plain(_marked(html))[0].replace(PAYWALL_MARK, PAYWALL_COMMENT)


def _marked(html: str) -> str:
    if PAYWALL_MARK in html:
        html = html.replace(PAYWALL_MARK, "")
    return _MARKER.sub(PAYWALL_MARK, html) if "<!--" in html else html
