"""The place in a post where a search has found its words, with the words marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup, escape
from msgspec.structs import replace

from masthead.engine.records.collection import Record
from masthead.engine.records.read.plain_text import plain_text
from masthead.engine.records.search.terms import UNSPACED, read_query, words_of
from masthead.faces.reader.views import Card
from masthead.storage.full_text import Term

_BEFORE: Final = 60
_AFTER: Final = 130
"""Characters around the first word that is found."""
_MAX_HTML: Final = 100_000
"""Characters of a text in which the words are looked for."""
_MAX_ALL: Final = 500_000
"""Characters of all texts of a page. Texts beyond them show their excerpt."""
# As the index splits texts: scripts without blanks have a word for each character.
_WORD: Final = re.compile(rf"{UNSPACED.pattern}|[^\W_]+")


def with_places(cards: Sequence[Card], posts: Sequence[Record], query: str) -> tuple[Card, ...]:
    """The cards with marked titles, and with the place that was found instead of the excerpt.
    `posts` have as much of their texts as the reader may read. For a thread: texts may be long."""
    marks = _Marks(read_query(query))
    found, left = [], _MAX_ALL
    for card, post in zip(cards, posts, strict=True):
        html = post["content_html"][: min(_MAX_HTML, left)]
        left -= len(html)
        place = marks.place(card.excerpt) or marks.place(plain_text(html, len(html)))
        title = marks.marked(card.title)
        if place is None and title == escape(card.title):
            place = _with_tags(card, marks)
        found.append(replace(card, title=title, excerpt=place or escape(card.excerpt)))
    return tuple(found)


def _with_tags(card: Card, marks: _Marks) -> Markup | None:
    """The excerpt, and the tags that were found."""
    tags = [marks.place(tag.label) for tag in card.tags]
    found = Markup(", ").join(tag for tag in tags if tag)
    return Markup("{} Tagged {}.").format(card.excerpt, found) if found else None


class _Marks:
    """Marks the words of one search."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._words: set[str] = set()
        self._prefixes: tuple[str, ...] = ()
        for term in terms:
            *words, last = term.words
            self._words.update(words)
            if term.is_prefix:
                self._prefixes += (last,)
            else:
                self._words.add(last)
        self._known: dict[str, bool] = {}

    def place(self, text: str) -> Markup | None:
        """None where no word of the search is in the text."""
        first = next((each for each in _WORD.finditer(text) if self._is_found(each[0])), None)
        if first is None:
            return None
        start, end = max(first.start() - _BEFORE, 0), first.end() + _AFTER
        if start:
            blank = text.find(" ", start, first.start())
            start = blank + 1 if blank >= 0 else first.start()
        if end < len(text):
            blank = text.rfind(" ", first.end(), end)
            end = blank if blank > 0 else end
        shown = self.marked(text[start:end].strip())
        return Markup("{}{}{}").format(
            "… " if start else "", shown, " …" if end < len(text) else ""
        )

    def marked(self, text: str) -> Markup:
        pieces: list[Markup] = []
        end = 0
        for each in _WORD.finditer(text):
            if self._is_found(each[0]):
                pieces += [
                    escape(text[end : each.start()]),
                    Markup("<mark>{}</mark>").format(each[0]),
                ]
                end = each.end()
        return Markup("").join([*pieces, escape(text[end:])])

    def _is_found(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = any(
                each in self._words or (bool(self._prefixes) and each.startswith(self._prefixes))
                for each in words_of(word)
            )
        return self._known[word]
