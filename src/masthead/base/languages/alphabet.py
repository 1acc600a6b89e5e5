"""The order of texts in lists that people read: by letters, whatever their case and marks.

It is made here and not by a database, so that it is the same on SQLite and PostgreSQL and stays the
same when their libraries are updated. It knows no language: `ñ` is an `n`, `ą` an `a`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from anyascii import anyascii

MAX_KEY: Final = 255
"""Characters. PostgreSQL indexes no more than 2,704 bytes."""
_CACHED_CHARACTERS: Final = 20_000
_LATIN_ENDS: Final = 0x250
_STRETCHING_LINE: Final = "\u0640"
_SMALL_KANA: Final = dict(zip("ぁぃぅぇぉっゃゅょゎゕゖ", "あいうえおつやゆよわかけ", strict=True))
_LONG_VOWEL: Final = re.compile("(?<=[ぁ-ゖ])ー")
_VOWELS: Final = {"A": "あ", "I": "い", "U": "う", "E": "え", "O": "お", "N": "ん"}


def by_letters(text: str) -> tuple[str, str]:
    """A sort key. Case and marks decide between texts of the same letters."""
    return letters_of(text), text


def letters_of(text: str) -> str:
    """`„Ärger“ um 7` is `arger um 7`. A text without a letter is its own key."""
    if text.isascii():
        letters = text.encode().translate(_ASCII).decode()
    else:
        letters = unicodedata.normalize("NFKD", text).translate(_LETTERS)
        if "ー" in letters:
            letters = _LONG_VOWEL.sub(_repeated_vowel, letters)
    return (" ".join(letters.split()) or text)[:MAX_KEY]


def _repeated_vowel(found: re.Match[str]) -> str:
    """`ー` sounds like the vowel before it, which is the last letter of the kana's name."""
    return _VOWELS[unicodedata.name(found.string[found.start() - 1])[-1]]


class _Letters(dict[int, str]):
    """A table for `str.translate` that is filled as characters occur."""

    def __missing__(self, code: int) -> str:
        letter = _letter(chr(code))
        if len(self) < _CACHED_CHARACTERS:
            self[code] = letter
        return letter


def _letter(character: str) -> str:
    """The letter or digit without its case; marks are nothing, and other characters a blank."""
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind[0] == "M" or character == _STRETCHING_LINE:
        return ""
    if kind[0] not in "LN":
        return " "
    if ord(character) < _LATIN_ENDS:
        return anyascii(character).lower()
    if "ァ" <= character <= "ヶ":
        character = chr(ord(character) - ord("ァ") + ord("ぁ"))
    return _SMALL_KANA.get(character, character.casefold())


_LETTERS: Final = _Letters()
_ASCII: Final = "".join(_letter(chr(code)) for code in range(128)).encode().ljust(256)
