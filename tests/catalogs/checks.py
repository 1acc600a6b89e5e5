"""Problems with the translations of a language: sentences for the person who mends them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from babel.messages.catalog import Catalog, Message
from tests.catalogs.extraction import CATALOG_LANGUAGES, source_catalog, stored_catalog

from masthead.base.languages.translators import CATALOGS

_PLACEHOLDER = re.compile(r"%(?:\((\w+)\)s|%)")
_ANY_PERCENT = re.compile(r"%")
_NUMBERS = {"num", "number", "count", "days"}
"""A form for one or for two may say the number as a word."""
_TAG = re.compile(r"<[^<>]+>")
_ANYWHERE = r"\w'\w|\"|\.\.\.|  "
"""Signs of a typewriter; a blank too many."""
_MISPRINTS = {
    language: re.compile(f"{_ANYWHERE}|{own}")
    for language, own in {
        "ar": "[,;?]",
        "de": r"”|[^\W\d_]…",
        "es": "^[^¿]*[?]|^[^¡]*!",
        "fr": "(?<!\u202f)[;?!»%]|(?<!\u202f):(?= |$)|«(?!\u202f)",
        "it": "“",
        "ja": "(?<!「)[?!]|[\u3040-\u9fff] ?[,:()]|[,:()] ?[\u3040-\u9fff]",
        "nl": "[“«]",
        "pl": "“",
        "pt": "“",
    }.items()
}
"""Signs, quotes and blanks that no printer of the language would set."""


def all_problems(language: str) -> Iterator[str]:
    for name, languages in CATALOG_LANGUAGES.items():
        if language in languages:
            catalog = stored_catalog(language, name)
            yield from missing(catalog, source_catalog(name))
            yield from malformed(catalog)
            yield from misprinted(language, catalog)
            yield from against_glossary(language, catalog)


def missing(catalog: Catalog, source: Catalog) -> Iterator[str]:
    known = {(each.id, each.context) for each in catalog if each.id}
    wanted = {(each.id, each.context) for each in source if each.id}
    for message, _ in sorted(map(_sortable, wanted - known)):
        yield f"not in the catalog, run make catalogs: {message}"
    for message, _ in sorted(map(_sortable, known - wanted)):
        yield f"no longer in the source, run make catalogs: {message}"
    for each in catalog:
        if each.id and not all(translations(each)):
            yield f"not translated: {shown(each)}"


def malformed(catalog: Catalog) -> Iterator[str]:
    """Placeholders and tags are those of the source, in any order."""
    for each in catalog:
        if not each.id:
            continue
        if each.fuzzy:
            yield f"fuzzy: {shown(each)}"
        for text in filter(None, translations(each)):
            yield from (f"{problem}: {text!r} for {shown(each)}" for problem in _faults(each, text))


def _faults(message: Message, text: str) -> Iterator[str]:
    sources = message.id if isinstance(message.id, tuple) else (message.id,)
    allowed = [sorted(_placeholders(each)) for each in sources]
    given = sorted(_placeholders(text))
    if given not in allowed and given != sorted({*allowed[-1]} - _NUMBERS):
        yield "other placeholders"
    if len(_PLACEHOLDER.findall(text)) != len(_ANY_PERCENT.findall(text.replace("%%", "%"))):
        yield "a percent sign that is no placeholder: write %%"
    if sorted(_TAG.findall(text)) not in [sorted(_TAG.findall(each)) for each in sources]:
        yield "other tags"
    if text != text.strip() and sources[0] == sources[0].strip():
        yield "blanks at an end"


def _placeholders(text: str) -> list[str]:
    return [name for name in _PLACEHOLDER.findall(text) if name]


def misprinted(language: str, catalog: Catalog) -> Iterator[str]:
    for each in catalog:
        for text in filter(None, translations(each)) if each.id else ():
            if found := _MISPRINTS[language].search(_set(text)):
                yield f"{found[0]!r} is not how {language} is printed: {text!r} for {shown(each)}"


def _set(message: str) -> str:
    """With a value in each place."""
    return _TAG.sub("", _PLACEHOLDER.sub(lambda found: "0" if found[1] else "%", message))


def against_glossary(language: str, catalog: Catalog) -> Iterator[str]:
    """A term of the glossary that is in the English words is in the translation as the glossary
    has it; words that it rules out are nowhere."""
    for term, row in glossary(language).items():
        if not row["say"]:
            yield f"the glossary has no word for {term!r}"
            continue
        english = re.compile(
            row.get("english") or rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE
        )
        said = re.compile("|".join(map(re.escape, row["say"])), re.IGNORECASE)
        ruled_out = [
            re.compile(rf"(?<!\w){re.escape(each)}", re.IGNORECASE) for each in row.get("not", ())
        ]
        for each in catalog:
            if not each.id or _english(each) in row.get("except", ()):
                continue
            text = _read(" ".join(filter(None, translations(each))))
            words = _read(_english(each))
            if text and english.search(words) and not said.search(text):
                yield f"{term!r} is {' or '.join(row['say'])}: {text!r} for {shown(each)}"
            for pattern in ruled_out:
                if pattern.search(text):
                    yield f"{pattern.pattern[7:]!r} is ruled out by {term!r}: {text!r}"


def _read(message: str) -> str:
    """Without placeholders, and without tags, whose attributes are no words."""
    return _TAG.sub("", _PLACEHOLDER.sub("", message))


def glossary(language: str) -> dict[str, dict[str, Any]]:
    path = CATALOGS / language / "glossary.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def translations(message: Message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (message.string,)


def shown(message: Message) -> str:
    where = message.locations[0][0] if message.locations else ""
    return f"{_english(message)!r} ({where})"


def _english(message: Message) -> str:
    return message.id[-1] if isinstance(message.id, tuple) else message.id


def _sortable(key: tuple[Any, Any]) -> tuple[str, str]:
    message, context = key
    return (message[0] if isinstance(message, tuple) else message, context or "")
