"""English words that were stored, in the language that is spoken now.

What a job writes for people to read later, such as the reasons in an import's report, it writes in
English: who will read it is not known then. The messages of the source are the keys of the
catalogs, so a stored text is found there again, with its values.

A stored text may hold what a stranger wrote: what it costs is bounded by its length, and no pattern
is tried in more than one way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from masthead.base.languages.formats import number_text
from masthead.base.languages.translators import admin_messages, admin_translator, spoken_now

LONGEST: Final = 2_000
"""Characters of a text that is retold: the reasons that jobs store are shorter."""
_MOST_SENTENCES: Final = 16
_DEEPEST: Final = 2
"""A problem may name a field and its problem."""
_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s")
_FIELD, _PROBLEM = "field", "problem"
"""The names of values that are words themselves."""
_FEWEST_LETTERS: Final = 12
"""In a message with values: one that has fewer would be found in many texts."""
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,2}(?:,[0-9]{3})*")
"""As the service writes one: `007` is a name."""
_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[.!?]) (?=[^\W\d_a-z])")


def retold(text: str) -> str:
    """In the staff's language; text that is no message of the source stays as it is."""
    spoken = spoken_now().spoken
    if spoken == "en" or not text or len(text) > LONGEST:
        return text
    return _retold(text, spoken)


@lru_cache(maxsize=1_024)
def _retold(text: str, language: str) -> str:
    whole = _one(text, language)
    return whole if whole is not None else " ".join(_sentences(text, language))


def _sentences(text: str, language: str) -> Iterator[str]:
    """A message may have several sentences, and a text several messages."""
    left = _BETWEEN_SENTENCES.split(text)
    if not 1 < len(left) <= _MOST_SENTENCES:
        yield text
        return
    while left:
        for count in range(len(left), 0, -1):
            found = _one(" ".join(left[:count]), language)
            if found is not None:
                break
        yield left[0] if found is None else found
        del left[:count]


def _one(text: str, language: str, depth: int = 0) -> str | None:
    if text in admin_messages(language):
        return admin_translator(language).gettext(text)
    messages = _with_values(language)
    for words in dict.fromkeys((_beginning(text), _end(text), "")):
        for message in messages.get(words, ()):
            if found := message.values_in(text):
                values = _values(found, language, depth)
                if values is not None:
                    return admin_translator(language).gettext(message.key) % values
    return None


def _values(found: dict[str, str], language: str, depth: int) -> dict[str, str] | None:
    values = {}
    for name, text in found.items():
        value = _value(name, text, language, depth)
        if value is None:
            return None
        values[name] = value
    return values


def _value(name: str, text: str, language: str, depth: int) -> str | None:
    if name in (_FIELD, _PROBLEM):
        found = _one(text, language, depth + 1) if depth < _DEEPEST else None
        return text if found is None and name == _FIELD else found
    return number_text(int(text.replace(",", "")), language) if _NUMBER.fullmatch(text) else text


class _Message(Struct, frozen=True):
    key: str
    names: Sequence[str]
    first: str
    """Its own text before the first value; `last` is that after the last one."""
    between: Sequence[str]
    last: str

    @property
    def letters(self) -> int:
        return sum(each.isalpha() for each in "".join((self.first, *self.between, self.last)))

    def values_in(self, text: str) -> dict[str, str] | None:
        """Each value ends where the next piece is found first, and none is empty."""
        if not (text.endswith(self.last) and text.startswith(self.first)):
            return None
        values = []
        start, end = len(self.first), len(text) - len(self.last)
        for piece in self.between:
            at = text.find(piece, start + 1, end)
            if at < 0:
                return None
            values.append(text[start:at])
            start = at + len(piece)
        if start >= end:
            return None
        return dict(zip(self.names, (*values, text[start:end]), strict=True))


@cache
def _with_values(language: str) -> dict[str, list[_Message]]:
    """The key is the word that they begin with, or else end with, so that few are tried for a text.
    Those with more text come first: they say more of what they are about."""
    found: list[_Message] = []
    for key in admin_messages(language):
        names = _PLACEHOLDER.findall(key)
        pieces = _PLACEHOLDER.sub("\0", key).replace("%%", "%").split("\0")
        message = _Message(key, names, pieces[0], pieces[1:-1], pieces[-1])
        is_clear = message.letters >= _FEWEST_LETTERS or {*names} <= {_FIELD, _PROBLEM}
        if names and is_clear and len(names) == len(set(names)):
            found.append(message)
    found.sort(key=lambda each: (-each.letters, each.key))
    by_word: dict[str, list[_Message]] = {}
    for message in found:
        by_word.setdefault(_beginning(message.first) or _end(message.last), []).append(message)
    return by_word


def _beginning(text: str) -> str:
    """The first word, if it is whole."""
    return "".join(text.partition(" ")[:2]) if " " in text else ""


def _end(text: str) -> str:
    return "".join(text.rpartition(" ")[1:]) if " " in text else ""
