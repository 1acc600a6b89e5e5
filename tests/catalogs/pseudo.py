"""A language that is made of the source: each Latin letter of our words becomes a Greek one, so
that a Latin word on a page is one that no catalog has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

import pytest
from lxml import html
from tests.catalogs.extraction import CATALOG_LANGUAGES, read_catalog, text_of

from masthead.base.languages import translators

LANGUAGE = "el"
"""Babel knows it, so dates and prices are in Greek letters as well."""
_GREEK = "αβγδεζηθικλμνξοπρστυφχψωάέήίόύ"
_LETTERS = str.maketrans(
    dict(zip(ascii_lowercase, _GREEK, strict=False))
    | dict(zip(ascii_uppercase, _GREEK.upper(), strict=False))
)
_KEPT = re.compile(r"%\(\w+\)s|<[^<>]+>|&\w+;")
_WORD = re.compile(r"[A-Za-z]{2,}")
_DATA = re.compile(r"\S+@\S+|https?://\S+|(?:^|(?<=\s))/[\w/-]+|\b[\w-]+(?:\.[\w-]+)+\b")
"""Email addresses, addresses and hosts."""
_SHOWN = ("alt", "aria-label", "placeholder", "title")


@contextmanager
def pseudo_language(folder: Path) -> Iterator[None]:
    (folder / LANGUAGE).mkdir()
    for name in CATALOG_LANGUAGES:
        # German has the staff's words as well as the readers', and as many plurals as Greek.
        catalog = read_catalog("de", name)
        for message in catalog:
            if message.id:
                many = isinstance(message.id, tuple)
                texts = tuple(map(_in_greek, message.id if many else (message.id,)))
                message.string = texts if many else texts[0]
        path = folder / LANGUAGE / f"{name}.po"
        path.write_text(text_of(catalog), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translators, "CATALOGS", folder)
        patch.setattr(translators, "LANGUAGES", (*translators.LANGUAGES, LANGUAGE))
        patch.setitem(translators.ADMIN_LANGUAGES, LANGUAGE, LANGUAGE)  # type: ignore[arg-type]
        _forget()
        yield
    _forget()


def _forget() -> None:
    translators.translator_of.cache_clear()
    translators.admin_translator.cache_clear()
    translators._catalog.cache_clear()


def _in_greek(text: str) -> str:
    pieces, end = [], 0
    for kept in _KEPT.finditer(text):
        pieces += [text[end : kept.start()].translate(_LETTERS), kept[0]]
        end = kept.end()
    return "".join([*pieces, text[end:].translate(_LETTERS)])


def latin_words(page: str, *known: str) -> list[str]:
    """The texts of a page with a word that is not translated, nor among the known ones."""
    tree = html.document_fromstring(page)
    for element in tree.xpath("//script | //style"):
        element.drop_tree()
    attributes = " | ".join(f"//@{each}" for each in _SHOWN)
    texts = tree.xpath(f"//text() | {attributes} | //meta[@name='description']/@content")
    return sorted({text for text in map(str, texts) if _is_latin(text, known)})


def is_latin(text: str, *known: str) -> bool:
    return _is_latin(text, known)


def _is_latin(text: str, known: tuple[str, ...]) -> bool:
    for each in sorted(known, key=len, reverse=True):
        text = text.replace(each, "") if each else text
    return _WORD.search(_DATA.sub("", unescape(text))) is not None
