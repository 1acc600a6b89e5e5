"""The catalogs: what is in them fits the source, and every word of a template is theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages.plurals import get_plural
from jinja2 import Environment, nodes
from tests.catalogs.checks import against_glossary, glossary, malformed, misprinted, missing
from tests.catalogs.extraction import (
    CATALOG_LANGUAGES,
    SOURCE,
    reads_the_catalogs,
    source_catalog,
    stored_catalog,
)
from tests.parsed import nodes_of, reads_the_source

from masthead.base.languages.translators import CATALOGS, LANGUAGES, translator_of

pytestmark = reads_the_catalogs
TRANSLATED = LANGUAGES[1:]
OF_LANGUAGES = [
    (name, language) for name, languages in CATALOG_LANGUAGES.items() for language in languages
]
TEMPLATES = sorted(
    path
    for folder in (
        *("faces/reader", "faces/admin/templates", "outside/mail"),
        *("features/mailings", "web/templates"),
    )
    for path in (SOURCE / folder).rglob("*")
    if path.suffix in (".html", ".txt")
    and ("admin" in path.parts or path.parent.name == "templates")
    # The reference of the API is English, as the API is; the components are examples. The others
    # write attributes.
    and path.name not in ("reference.html", "_invalid.html", "components.html", "field.html")
)
SHOWN_ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}
HIDDEN = {"style", "script", "svg"}
NO_WORDS = {
    *("lost", "/member/account", "ada@example.com", "Website", "https://"),
    *("Masthead", "primary", "quiet", "danger", "plain", "main-narrow", "yes"),
    *("Ctrl", "Enter"),
}
"""Classes, kinds of buttons, keys, addresses, a name, and a label that only programs see."""
LATIN = re.compile(r"[A-Za-z]{2,}")


@pytest.mark.parametrize("name", CATALOG_LANGUAGES)
def test_every_catalog_has_the_words_of_the_source(name: str) -> None:
    """If this fails, run `make catalogs` and translate the new words."""
    source = source_catalog(name)
    for language in CATALOG_LANGUAGES[name]:
        assert (language, list(missing(stored_catalog(language, name), source))) == (language, [])


@pytest.mark.parametrize(("name", "language"), OF_LANGUAGES)
def test_every_catalog_has_the_forms_of_its_language(name: str, language: str) -> None:
    """As many as the language has for numbers."""
    catalog = stored_catalog(language, name)
    assert (catalog.num_plurals, catalog.plural_expr) == get_plural(language)
    forms = {len(each.string) for each in catalog if each.id and each.pluralizable}
    assert forms == {catalog.num_plurals}


@pytest.mark.parametrize(("name", "language"), OF_LANGUAGES)
def test_translations_have_the_placeholders_and_tags_of_the_source(
    name: str, language: str
) -> None:
    assert list(malformed(stored_catalog(language, name))) == []


@pytest.mark.parametrize(("name", "language"), OF_LANGUAGES)
def test_translations_have_the_signs_of_their_language(name: str, language: str) -> None:
    """Its quotes, its commas and question marks, and the narrow blanks of French."""
    assert list(misprinted(language, stored_catalog(language, name))) == []


@pytest.mark.parametrize(("name", "language"), OF_LANGUAGES)
def test_translations_have_the_words_of_the_glossary(name: str, language: str) -> None:
    assert list(against_glossary(language, stored_catalog(language, name))) == []


def test_every_glossary_explains_the_same_words() -> None:
    words = {language: set(glossary(language)) for language in TRANSLATED}
    assert len({frozenset(each) for each in words.values()}) == 1, words


def test_every_catalog_can_be_read_and_a_missing_word_is_english() -> None:
    assert {path.parent.name for path in CATALOGS.glob("*/site.po")} == set(TRANSLATED)
    for language in LANGUAGES:
        translator = translator_of(language)
        assert translator.spoken == language
        assert translator.gettext("no such message") == "no such message"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_word_of_a_template_is_translated(path: Path) -> None:
    """Text between tags, in attributes that are shown, and in what expressions write."""
    environment = Environment(extensions=["jinja2.ext.i18n"])
    environment.policies["ext.i18n.trimmed"] = True
    tree = environment.parse(path.read_text())
    reader = _Shown(is_html=path.suffix == ".html")
    for piece in _pieces(tree):
        reader.feed(piece)
    reader.close()
    shown = (text for text in reader.shown if text.strip() not in NO_WORDS)
    assert [text for text in shown if LATIN.search(text)] == []


def _pieces(node: nodes.Node) -> Iterator[str]:
    """The template's text in its order, with each constant that an expression may write."""
    for child in node.iter_child_nodes():
        match child:
            case nodes.TemplateData():
                yield child.data
            case nodes.Block(name="main_class"):
                pass
            case nodes.Stmt():
                yield from _pieces(child)
            case _ if isinstance(node, nodes.Output):
                yield from _constants(child)


def _constants(node: nodes.Node) -> list[str]:
    """The texts of the expression itself, not of what it calls or compares."""
    match node:
        case nodes.Const():
            return [node.value] if isinstance(node.value, str) else []
        case nodes.CondExpr():
            return [*_constants(node.expr1), *(_constants(node.expr2) if node.expr2 else [])]
        case nodes.Or() | nodes.And() | nodes.Add():
            return [*_constants(node.left), *_constants(node.right)]
        case nodes.Concat() if all(isinstance(each, nodes.Const) for each in node.nodes):
            return [each for part in node.nodes for each in _constants(part)]
        case nodes.Call() if isinstance(node.node, nodes.Name) and _shows(node.node.name):
            return [each for argument in node.args for each in _constants(argument)]
    return []


def _shows(name: str) -> bool:
    """A macro of the emails that shows the texts that it is given."""
    return name in ("heading", "line", "button", "typed_code", "quotation")


class _Shown(HTMLParser):
    def __init__(self, *, is_html: bool) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._hidden = 0
        if not is_html:
            self.feed = self.shown.append  # type: ignore[method-assign,assignment]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in HIDDEN
        attributes: dict[str, Any] = dict(attrs)
        self.shown += [attributes[each] or "" for each in SHOWN_ATTRIBUTES & {*attributes}]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in HIDDEN and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.shown.append(data.strip())


@reads_the_source
def test_no_message_is_an_f_string() -> None:
    """The extraction reads literals: the words of any other message are in no catalog."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        calls = (each for each in nodes_of(path) if isinstance(each, ast.Call))
        found += [f"{path.name}:{each.lineno}" for each in calls if _is_unknown(each)]
    assert found == []


MESSAGES = {
    **{"_": 1, "words": 1, "marked": 1, "gettext": 1, "words_in": 2, "pgettext": 2},
    **{"counted": 2, "ngettext": 2, "npgettext": 3},
}
"""The functions that extraction looks for, with how many of their first arguments are words."""


def _is_unknown(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return any(isinstance(each, ast.JoinedStr) for each in call.args[: MESSAGES.get(name, 0)])
