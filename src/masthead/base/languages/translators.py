"""The words of a language, from its gettext catalog, and the language that is spoken now.

Whoever answers a request or writes an email says once in which language: `with
speaking(translator_of("de"))`. Templates and `Words` follow. English, the language of the source,
needs no catalog; another one is read when it is first spoken."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gettext import GNUTranslations

LANGUAGES: Final = ("en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "ar")
"""English is in the source; each of the others has a catalog."""
CATALOGS: Final = Path(__file__).parent / "catalogs"
SITE: Final = "site"
"""The catalog of the words that readers see, on the site and in emails."""
ADMIN: Final = "admin"
"""The catalog of the words that only the staff see."""
ADMIN_LANGUAGES: Final = {"en": "English", "de": "Deutsch"}
"""Those of the staff's words, and their own names."""
_RIGHT_TO_LEFT: Final = frozenset({"ar", "he", "fa", "ur"})
_VALUE: Final = re.compile(r"(<[^<>]*>|%\((?:address|code|link|path|url)\)s)|%\(\w+\)s")
"""A tag or an address, which programs read, or the place of another value."""
_LONE_LETTER: Final = re.compile(r"(?<![^\s(„])([aiouwz]) ", re.IGNORECASE)
"""The Polish words of one letter."""


class Translator:
    """English in its own words; the base of other languages."""

    def __init__(self, language: str) -> None:
        self.language = language
        """A BCP 47 tag, which decides how dates and numbers are written."""
        self.spoken = "en"
        """The language of the words: English if the language has no catalog."""

    def gettext(self, message: str) -> str:
        return message

    def ngettext(self, one: str, many: str, number: int) -> str:
        return one if number == 1 else many

    def pgettext(self, context: str, message: str) -> str:
        return message

    def npgettext(self, context: str, one: str, many: str, number: int) -> str:
        return self.ngettext(one, many, number)


class CatalogTranslator(Translator):
    """The words of a catalog, and English ones where it has none."""

    def __init__(self, language: str, spoken: str, catalog: GNUTranslations) -> None:
        super().__init__(language)
        self.spoken = spoken
        for name in ("gettext", "ngettext", "pgettext", "npgettext"):
            # Not through a method of ours: a page has a hundred words.
            method = getattr(catalog, name)
            if direction_of(spoken) == "rtl":
                method = _changed(method, _isolated)
            elif spoken == "pl":
                method = _changed(method, tied)
            setattr(self, name, method)


def _changed(method: Callable[..., str], change: Callable[[str], str]) -> Callable[..., str]:
    def said(*given: Any) -> str:
        return change(method(*given))

    return said


@lru_cache(maxsize=2_048)
def tied(text: str) -> str:
    """A Polish line never ends with a word of one letter: it stays with the next one."""
    return _LONE_LETTER.sub("\\1\u00a0", text)


@lru_cache(maxsize=2_048)
def _isolated(text: str) -> str:
    """Sets each value apart: a Latin name would turn the words and signs around it in a text
    from right to left, and a subject that begins with one would run from left to right. By
    characters, because subjects, plain text and attributes have no elements."""
    return _VALUE.sub(lambda found: found[1] or f"\u2068{found[0]}\u2069", text)


ENGLISH: Final = Translator("en")
_SPEAKING: Final[ContextVar[Translator]] = ContextVar("speaking", default=ENGLISH)
spoken_now = _SPEAKING.get


@contextmanager
def speaking(translator: Translator) -> Iterator[None]:
    token = _SPEAKING.set(translator)
    try:
        yield
    finally:
        _SPEAKING.reset(token)


@lru_cache(maxsize=256)
def translator_of(language: str) -> Translator:
    """`language` is a BCP 47 tag; empty is English."""
    tag = language or "en"
    spoken = catalog_language(tag)
    if spoken == "en":
        return ENGLISH if tag == "en" else Translator(tag)
    return CatalogTranslator(tag, spoken, _catalog(spoken, SITE))


@cache
def admin_translator(language: str) -> Translator:
    """Has the words of readers, too: in a language that the admin lacks, which an email to the
    staff may be in, it has these alone."""
    if language == "en":
        return ENGLISH
    catalog, *others = (_catalog(language, name) for name in _staff_catalogs(language))
    for other in others:
        catalog.add_fallback(other)
    return CatalogTranslator(language, language, catalog)


@cache
def admin_messages(language: str) -> frozenset[str]:
    """The keys of the same catalogs, without those of plurals and those with a context."""
    # Babel lists them; the translations of the standard library only look them up.
    from babel.messages.mofile import read_mo

    catalogs = [read_mo(BytesIO(_compiled(language, name))) for name in _staff_catalogs(language)]
    found = (message for catalog in catalogs for message in catalog)
    keys = (message.id for message in found if message.context is None)
    return frozenset(key for key in keys if key and isinstance(key, str))


def catalog_language(tag: str) -> str:
    """The language whose words a text in this language gets around it."""
    spoken = primary_language(tag)
    return spoken if spoken in LANGUAGES else "en"


def accepted_language(header: str, among: Container[str] = LANGUAGES) -> str:
    """The catalog that fits `Accept-Language` best: the first one of those wanted most."""
    wanted: list[tuple[float, str]] = []
    for each in header[:200].split(","):
        tag, _, quality = (part.strip() for part in each.partition(";"))
        try:
            wanted.append((-float(quality.removeprefix("q=") or 1), tag))
        except ValueError:
            continue
    for weight, tag in sorted(wanted, key=lambda found: found[0]):
        if weight and primary_language(tag) in among:
            return primary_language(tag)
    return "en"


def primary_language(tag: str) -> str:
    return tag.lower().partition("-")[0]


def direction_of(tag: str) -> str:
    return "rtl" if primary_language(tag) in _RIGHT_TO_LEFT else "ltr"


def _staff_catalogs(language: str) -> tuple[str, ...]:
    return (ADMIN, SITE) if language in ADMIN_LANGUAGES else (SITE,)


@cache
def _catalog(language: str, name: str) -> GNUTranslations:
    # Imported here: a service whose sites are English never needs it.
    from gettext import GNUTranslations

    return GNUTranslations(BytesIO(_compiled(language, name)))


def _compiled(language: str, name: str) -> bytes:
    compiled = CATALOGS / language / f"{name}.mo"
    source = compiled.with_suffix(".po")
    # Packages have compiled catalogs only. In the repository, one may be older than its source.
    if not source.exists() or (
        compiled.exists() and compiled.stat().st_mtime >= source.stat().st_mtime
    ):
        return compiled.read_bytes()
    return compile_catalog(source)


def compile_catalog(source: Path) -> bytes:
    """A PO file as gettext reads it."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open("rb") as file:
        catalog = read_po(file)
    compiled = BytesIO()
    write_mo(compiled, catalog)
    return compiled.getvalue()
