"""English words that were stored, in the language that is spoken now.

What a job writes for people to read later, such as the reasons in an import's report, it writes in
English: who will read it is not known then. The messages of the source are the keys of the
catalogs, so a stored text is found there again, with its values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from masthead.base.languages.formats import number_text
from masthead.base.languages.translators import admin_messages, admin_translator, spoken_now

_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s")
_FIELD, _PROBLEM = "field", "problem"
"""The names of values that are words themselves."""
_FEWEST_LETTERS: Final = 12
"""In a message with values: one that has fewer would be found in many texts."""
_NUMBER: Final = re.compile(r"\d{1,3}(?:,\d{3})*")
_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[.!?]) (?=[^\W\d_a-z])")


def retold(text: str) -> str:
    """In the staff's language; text that is no message of the source stays as it is."""
    spoken = spoken_now().spoken
    return text if spoken == "en" or not text else _retold(text, spoken)


@lru_cache(maxsize=2_048)
def _retold(text: str, language: str) -> str:
    whole = _one(text, language)
    return whole if whole is not None else " ".join(_sentences(text, language))


def _sentences(text: str, language: str) -> Iterator[str]:
    """A message may have several sentences, and a text several messages."""
    left = _BETWEEN_SENTENCES.split(text)
    while left:
        for count in range(len(left), 0, -1):
            found = _one(" ".join(left[:count]), language)
            if found is not None:
                break
        yield left[0] if found is None else found
        del left[:count]


def _one(text: str, language: str) -> str | None:
    messages = admin_messages(language)
    if text in messages:
        return admin_translator(language).gettext(text)
    for message, longest, pattern in _patterns(language):
        if longest in text and (found := pattern.fullmatch(text)):
            values = {
                name: _value(name, value, language) for name, value in found.groupdict().items()
            }
            if None not in values.values():
                return admin_translator(language).gettext(message) % values
    return None


def _value(name: str, text: str, language: str) -> str | None:
    if name in (_FIELD, _PROBLEM):
        found = _one(text, language)
        return text if found is None and name == _FIELD else found
    return number_text(int(text.replace(",", "")), language) if _NUMBER.fullmatch(text) else text


@cache
def _patterns(language: str) -> list[tuple[str, str, re.Pattern[str]]]:
    """The messages with values, each with the longest piece of its own text. Those with more text
    come first: they say more of what they are about."""
    found: list[tuple[int, str, str, re.Pattern[str]]] = []
    for message in admin_messages(language):
        names = _PLACEHOLDER.findall(message)
        pieces = _PLACEHOLDER.sub("\0", message).replace("%%", "%").split("\0")
        letters = sum(each.isalpha() for piece in pieces for each in piece)
        is_clear = letters >= _FEWEST_LETTERS or {*names} <= {_FIELD, _PROBLEM}
        if names and is_clear and len(names) == len(set(names)):
            values = [*(f"(?P<{name}>.+?)" for name in names), ""]
            parts = zip(map(re.escape, pieces), values, strict=True)
            pattern = re.compile("".join(map("".join, parts)), re.DOTALL)
            found.append((letters, message, max(pieces, key=len), pattern))
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found]
