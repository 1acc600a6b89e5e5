"""The words of the editor's scripts: all are messages, and a page in another language has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.jslexer import Token, tokenize
from tests.catalogs.extraction import (
    SOURCE,
    reads_the_catalogs,
    script_words,
    script_words_path,
    stored_catalog,
)

from masthead.base.languages.translators import ADMIN, ADMIN_LANGUAGES

ELEMENTS = "losses.ts"
"""Holds names of HTML elements."""
FILES = sorted((SOURCE / "faces/admin/editor/source").rglob("*.ts"))
MESSAGES = {"_", "counted"}
NOT_SHOWN = {
    *("class", "className", "name", "keys", "querySelector", "querySelectorAll", "closest"),
    *("matches", "import", "from", "types"),
}
"""Attributes and calls whose texts no person sees."""
TECHNICAL = {
    *(
        "Alt",
        "ArrowDown",
        "ArrowUp",
        "Ctrl",
        "End",
        "Enter",
        "Escape",
        "Files",
        "Home",
        "Shift",
        "Tab",
    ),
    *("Ctrl B", "Ctrl E", "Ctrl I", "Ctrl U", "Ctrl Shift H", "Ctrl Shift S", "Ctrl ,", "Ctrl ."),
    *("HTML", "HX-Redirect", "HX-Request", "badge badge-warn", "pasted."),
}
"""Keys, headers, classes, the name of a file, and one that is the same in every language."""
_WORDS = re.compile(r"^[^a-z<]*[A-Z“][a-z]|[a-z][,:]? [a-z]{2}|[a-z] ?[.…?!]$")
_BETWEEN = ("(", "[", ":", ",", "+", "=", "<", ">", "HTMLElement", "HTMLTemplateElement")
_VALUE = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}")


@pytest.mark.parametrize(
    "path", [each for each in FILES if each.name != ELEMENTS], ids=lambda path: path.name
)
def test_every_word_of_a_script_is_a_message(path: Path) -> None:
    assert [f"{path.name}:{line}: {text}" for line, text in _shown(path)] == []


def _shown(path: Path) -> Iterator[tuple[int, str]]:
    before: list[Token] = []
    for token in tokenize(path.read_text(encoding="utf-8"), jsx=False):
        if token.type in ("string", "template_string"):
            text = _VALUE.sub("", token.value[1:-1])
            is_shown = _WORDS.search(text) or (_is_hint(before) and text.isalpha())
            if is_shown and text not in TECHNICAL and not _is_known(before):
                yield token.lineno, token.value
        before.append(token)


def _is_hint(before: list[Token]) -> bool:
    """A word in a field that is empty, also a single one without a capital."""
    return [each.value for each in before[-2:]] == ["placeholder", ":"]


def _is_known(before: list[Token]) -> bool:
    """A text of a message, or one that follows the name of what nobody sees."""
    values = [each.value for each in before[-12:]]
    while values and (values[-1] in _BETWEEN or values[-1][0] in "\"'`"):
        values.pop()
    return bool(values) and values[-1].rpartition(".")[2] in MESSAGES | NOT_SHOWN


@reads_the_catalogs
@pytest.mark.parametrize("language", sorted({*ADMIN_LANGUAGES} - {"en"}))
def test_a_page_brings_the_words_of_the_catalog_for_its_scripts(language: str) -> None:
    stored = script_words_path(language).read_text(encoding="utf-8")
    assert stored == script_words(language), "run make catalogs"
    # The scripts know these two forms only.
    assert stored_catalog(language, ADMIN).plural_expr in ("n != 1", "(n != 1)")
