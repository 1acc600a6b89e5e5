"""The words that people read: of pages, emails, messages and docs, without the code around them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment
from tests.parsed import nodes_of

import masthead

PACKAGE = Path(masthead.__file__).parent
_LEFT_OUT = {"node_modules", "vendor", "tests", "migrations", "demo", "prompts"}
"""Code of others, what nobody reads, and the stories of the demo magazine."""
_READ_ALOUD = frozenset({"aria-label", "alt", "placeholder", "title"})
_SCRIPT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`""",
    re.DOTALL,
)
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`|\]\([^)\s]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)
_jinja = Environment(autoescape=True)


class Spoken(NamedTuple):
    file: Path
    line: int
    words: str


def of_the_product() -> Iterator[Spoken]:
    for file in sorted(PACKAGE.rglob("*.*")):
        if _LEFT_OUT.intersection(file.relative_to(PACKAGE).parts):
            continue
        if "templates" in file.parts and file.suffix in (".html", ".txt"):
            yield from in_template(file)
        elif file.suffix == ".py":
            yield from in_python(file)
        elif file.suffix in (".ts", ".js"):
            yield from in_script(file)


def in_template(file: Path) -> Iterator[Spoken]:
    """Its texts, its attributes that are read aloud, and the phrases in its expressions."""
    html: list[str] = []
    for line, kind, value in _jinja.lex(file.read_text()):
        if kind == "string" and _is_phrase(value[1:-1]):
            yield Spoken(file, line, value[1:-1])
        html.append(value if kind == "data" else _stand_in(kind, value))
    parser = _Texts()
    parser.feed("".join(html))
    parser.close()
    for line, words in parser.found:
        yield Spoken(file, line, words)


def _stand_in(kind: str, value: str) -> str:
    return "…" if kind == "variable_begin" else "\n" * value.count("\n")


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.found.append((self.getpos()[0], data))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        self.found += [(line, value) for name, value in attrs if name in _READ_ALOUD and value]


def in_python(file: Path) -> Iterator[Spoken]:
    """Its phrases, without docstrings."""
    nodes = nodes_of(file)
    docstrings = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    for each in nodes:
        if not isinstance(each, ast.Constant) or id(each) in docstrings:
            continue
        if isinstance(each.value, str) and _is_phrase(each.value):
            yield Spoken(file, each.lineno, _without_code(each.value))


def in_script(file: Path) -> Iterator[Spoken]:
    source = file.read_text()
    for match in _SCRIPT.finditer(source):
        words = next((each for each in match.groups() if each), "")
        if _is_phrase(words):
            yield Spoken(file, source.count("\n", 0, match.start()) + 1, words)


def in_page(file: Path) -> Iterator[Spoken]:
    """The lines of a page of the docs, without code and addresses."""
    for number, line in enumerate(_without_code(file.read_text()).splitlines(), 1):
        yield Spoken(file, number, line)


def _without_code(text: str) -> str:
    return _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)


def _is_phrase(text: str) -> bool:
    """For people: not the name of a field, a class or a file."""
    return " " in text.strip() or text[:1].isupper()
