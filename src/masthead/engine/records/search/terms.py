"""Turns records and search queries into the words of the full-text index.

Text is normalized here and not by the database (no diacritics, lower case, other scripts in Latin
transliteration), so that a search finds the same on SQLite and PostgreSQL.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from anyascii import anyascii

from masthead.base import clock
from masthead.engine.records.collection import Collection, Record, Searched
from masthead.engine.records.read.plain_text import plain_text
from masthead.storage.full_text import Term

MAX_CHARACTERS: Final = 100_000
"""How much of a field's text is indexed."""
MAX_MARKUP: Final = 500_000
"""How much of a field's HTML is read for it."""
MAX_WORDS: Final = 16_000
"""PostgreSQL stores no positions beyond 16,383."""
MAX_WORD: Final = 64
SHORTEST_PREFIX: Final = 2

_ID_BITS: Final = 21
_LAST_MILLISECOND: Final = 2**42 - 1
_CACHED_CHARACTERS: Final = 20_000

# Scripts without blanks between words: each character is a word of its own, and characters in a row
# in a query are a phrase, so any part of a sentence is found.
UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_OTHER: Final = re.compile("[^a-z0-9]")
# Arabic is often written without hamza and with one form of a letter for another. The line that
# stretches a word is no letter. Without these, words would be cut where Latin has no letter.
_ARABIC: Final = {
    **dict.fromkeys("\u0627\u0622\u0623\u0625\u0671", "a"),
    **dict.fromkeys("\u064a\u0649\u0626\u06cc", "y"),
    **dict.fromkeys("\u0648\u0624", "w"),
    **dict.fromkeys("\u0647\u0629", "h"),
    **dict.fromkeys("\u0621\u0640", ""),
    "\u0639": "3",
}
_CHUNK: Final = re.compile(r'"([^"]*)"|([^\s"]+)')


def document(collection: Collection, record: Record) -> str:
    """The record's words for the index, with two blanks between fields and list items."""
    found: list[str] = []
    for searched in collection.searchable:
        for text in _texts(searched, record):
            words = words_of(text)
            if words:
                # The empty word keeps a phrase from matching across two fields.
                found += ["", *words] if found else words
    return " ".join(found[:MAX_WORDS])


def _texts(searched: Searched, record: Record) -> list[str]:
    value = record[searched.name]
    if isinstance(value, list):
        return value
    if searched.is_html:
        value = plain_text(value[:MAX_MARKUP], MAX_CHARACTERS)
    return [value[:MAX_CHARACTERS]]


def words_of(text: str) -> list[str]:
    """`Crème brûlée №2` is `creme`, `brulee`, `no2`."""
    if text.isascii():
        # Translating bytes is ten times as fast, and so is the search for a long word in them.
        ascii_words = text.encode().translate(_FOLDED_ASCII)
        words = ascii_words.decode().split()
        is_long = _LONG_WORD in ascii_words.translate(_OUTLINE)
    else:
        words = unicodedata.normalize("NFC", text).translate(_FOLDED).split()
        is_long = max(map(len, words), default=0) > MAX_WORD
    return [word[:MAX_WORD] for word in words] if is_long else words


class _Folding(dict[int, str]):
    """A table for `str.translate` that is filled as characters occur."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _CACHED_CHARACTERS:
            self[code] = folded
        return folded


def _fold(character: str) -> str:
    if character in _ARABIC:
        return _ARABIC[character]
    kind = unicodedata.category(character)[0]
    if kind == "M" and not UNSPACED.match(character):
        return ""
    if kind not in "LNM":
        return " "
    folded = _OTHER.sub("", anyascii(character).lower())
    if folded and not UNSPACED.match(character):
        return folded
    return f" u{ord(character):06x} "


_FOLDED: Final = _Folding()
_FOLDED_ASCII: Final = "".join(_fold(chr(code)) for code in range(128)).encode().ljust(256)
_OUTLINE: Final = bytes(32 if code == 32 else 120 for code in range(256))
"""Words as rows of one letter."""
_LONG_WORD: Final = b"x" * (MAX_WORD + 1)


def read_query(text: str) -> list[Term]:
    """Words, all of which must match, "phrases in quotes", and pre* for a prefix.

    Every other character separates words, so that any text is a query. One without a word matches
    nothing.
    """
    terms: dict[Term, None] = {}
    for phrase, chunk in _CHUNK.findall(text):
        words = tuple(words_of(phrase or chunk))
        if words:
            is_prefix = chunk.endswith("*") and len(words[-1]) >= SHORTEST_PREFIX
            terms[Term(words, is_prefix)] = None
    return list(terms)


@lru_cache(10_000)
def prefix_of(tenant_id: str, collection: str) -> str:
    """The prefix of every word of a tenant's collection in the index. It begins with a letter, so
    that PostgreSQL parses none as a number."""
    return "x" + blake2b(f"{tenant_id}/{collection}".encode(), digest_size=6).hexdigest()


def document_key(tenant_id: str, collection: str, created: str, record_id: str) -> dict[str, Any]:
    """The parameters that identify a record's document."""
    return {
        "key_position": position_of(created, record_id),
        "key_tenant": tenant_id,
        "key_collection": collection,
        "key_record": record_id,
    }


def position_of(created: str, record_id: str) -> int:
    """A number in the order of (created, id). Two records may share one."""
    moment = int(clock.from_text(created).timestamp() * 1000 + 0.5)
    millisecond = min(max(moment, 0), _LAST_MILLISECOND)
    return millisecond << _ID_BITS | int(record_id[:4], 36)
