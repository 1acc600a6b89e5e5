"""The words of the source, and what the catalogs of the languages make of them.

Tests that read them are one group, so that one process extracts the words and reads the catalogs
once."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from tests.budget import once

from masthead.base.languages.translators import ADMIN, ADMIN_LANGUAGES, CATALOGS, LANGUAGES, SITE

reads_the_catalogs = pytest.mark.xdist_group("catalogs")

SOURCE = Path(__file__).parents[2] / "src" / "masthead"
KEYWORDS: dict[str, Any] = {
    "_": None,
    "both_numbers": (1, 2),
    "counted": (1, 2),
    "gettext": None,
    "marked": None,
    "ngettext": (1, 2),
    "npgettext": ((1, "c"), 2, 3),
    "pgettext": ((1, "c"), 2),
    "words": None,
    "words_in": ((1, "c"), 2),
}
_OF_STAFF: dict[str, Any] = {
    "staff_counted": (1, 2),
    "staff_marked": None,
    "staff_words": None,
}
_METHODS = {".html": "jinja2", ".txt": "jinja2", ".py": "python", ".ts": "javascript"}
_OPTIONS = {"trimmed": "true", "silent": "false"}
_ADMIN = "faces/admin/"
"""Its words are no reader's."""
_SCRIPTS = "faces/admin/editor/source/"
"""Their words go to the browser."""
_NOT_OURS = (
    *("faces/admin/editor/tests/", "features/ai/prompts/", "service/"),
    "faces/admin/templates/operator/components.html",
)
CATALOG_LANGUAGES = {SITE: LANGUAGES[1:], ADMIN: tuple(ADMIN_LANGUAGES)[1:]}
"""English, the first of them, is the language of the source."""
_DATES = re.compile(
    r'^"(?:POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|'
    r"Report-Msgid-Bugs-To|Generated-By|Project-Id-Version).*\n",
    re.MULTILINE,
)


def source_catalog(name: str = SITE) -> Catalog:
    """All words of the site and its emails, or those that only the staff see, in the order of the
    files."""
    catalog = Catalog(locale="en")
    if name == SITE:
        found = [each for each in _found(KEYWORDS) if not each[0].startswith(_ADMIN)]
    else:
        found = [each for each in _found(KEYWORDS) if each[0].startswith(_ADMIN)]
        found += _found(_OF_STAFF)
    readers = source_catalog() if name != SITE else None
    for path, _, message, comments, context in sorted(found, key=lambda each: (each[0], each[1])):
        if readers is None or readers.get(message, context) is None:
            catalog.add(message, locations=[(path, 0)], auto_comments=comments, context=context)
    return catalog


@once
def _extracted(keywords: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
    """Python without one of the keywords is left out: reading all of it takes long."""
    calls = re.compile(rf"\b(?:{'|'.join(name for name, _ in keywords)})\(")
    return tuple(
        (where, *each)
        for path in sorted(SOURCE.rglob("*"))
        if (method := _METHODS.get(path.suffix)) and _is_ours(where := _within(path))
        if method != "python" or calls.search(path.read_text(encoding="utf-8"))
        for each in _messages(method, path, dict(keywords))
    )


def _messages(method: str, path: Path, keywords: dict[str, Any]) -> list[Any]:
    options: dict[str, Any] = _OPTIONS if method == "jinja2" else {}
    return extract_from_file(
        *(method, path, keywords, ("Translators:",), options), strip_comment_tags=True
    )


def _within(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _is_ours(path: str) -> bool:
    folders = path.split("/")[:-1]
    return not path.startswith(_NOT_OURS) and not {"node_modules", "static"} & {*folders}


def _found(keywords: dict[str, Any]) -> list[Any]:
    return list(_extracted(tuple(keywords.items())))


def path_of(language: str, name: str = SITE) -> Path:
    return CATALOGS / language / f"{name}.po"


@once
def stored_catalog(language: str, name: str = SITE) -> Catalog:
    """Read once, so nobody may change it."""
    return read_catalog(language, name)


def read_catalog(language: str, name: str) -> Catalog:
    path = path_of(language, name)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def text_of(catalog: Catalog) -> str:
    """The file's text, without what changes by itself."""
    written = BytesIO()
    write_po(written, catalog, width=100, include_lineno=False, ignore_obsolete=True)
    return _DATES.sub("", written.getvalue().decode())


def update() -> None:
    """New words are added to every catalog without a translation, and old ones go."""
    for name, languages in CATALOG_LANGUAGES.items():
        source = source_catalog(name)
        for language in languages:
            catalog = read_catalog(language, name)
            catalog.update(source, no_fuzzy_matching=True, update_header_comment=False)
            catalog.header_comment = ""
            path = path_of(language, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text_of(catalog), encoding="utf-8")
            if name == ADMIN:
                script_words_path(language).write_text(script_words(language), encoding="utf-8")


def script_words_path(language: str) -> Path:
    return SOURCE / _ADMIN / "static" / "vendor" / f"words-{language}.js"


def script_words(language: str) -> str:
    """The words that a page brings along for its scripts: see editor/source/words.ts."""
    catalogs = [stored_catalog(language, name) for name in (ADMIN, SITE)]
    found: dict[str, Any] = {}
    for path, _, message, _, context in _found(KEYWORDS):
        if path.startswith(_SCRIPTS):
            said = next(filter(None, (each.get(message, context) for each in catalogs)))
            found[message if isinstance(message, str) else message[0]] = said.string
    return f"globalThis.mhWords={json.dumps(dict(sorted(found.items())), ensure_ascii=False)};\n"
