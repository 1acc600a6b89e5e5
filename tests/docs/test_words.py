"""Pages, emails, messages and docs use the words of `docs/words.md`, and none that it rules out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.docs.spoken_text import PACKAGE, Spoken, in_page, in_template, of_the_product
from tests.parsed import reads_the_source

ROOT = Path(__file__).parents[2]
WORDS = ROOT / "docs" / "words.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_TERM = re.compile(r"^\| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
_ROW = re.compile(r"^\| (?P<out>[^|]+) \| (?P<write>[^|]+) \| (?P<where>[^|]*) ?\|$", re.MULTILINE)


class Rule(NamedTuple):
    out: str
    pattern: re.Pattern[str]
    write: str
    files: tuple[str, ...]
    """Patterns of paths in the package; none: everywhere, and in the docs."""

    def is_broken_by(self, spoken: Spoken) -> bool:
        return bool(self.pattern.search(spoken.words)) and self.concerns(spoken.file)

    def concerns(self, file: Path) -> bool:
        if not self.files:
            return True
        if not file.is_relative_to(PACKAGE):
            return False
        path = file.relative_to(PACKAGE).as_posix()
        return any(fnmatch(path, each) for each in self.files)


@cache
def terms() -> re.Pattern[str]:
    """The terms of several words, which may hold a word that is ruled out."""
    table, _ = WORDS.read_text().split("## Words that are not used")
    named = [term for row in _TERM.findall(table) for term in row.split(", ") if " " in term]
    return re.compile(rf"\b(?:{'|'.join(named)})s?\b", re.IGNORECASE)


@cache
def rules() -> list[Rule]:
    _, table = WORDS.read_text().split("## Words that are not used")
    found = []
    for row in list(_ROW.finditer(table))[1:]:
        files = tuple(re.findall(r"`([^`]+)`", row["where"]))
        for out in row["out"].split(", "):
            found.append(Rule(out, _pattern(out), row["write"].strip(), files))
    return found


def _pattern(out: str) -> re.Pattern[str]:
    """Bold is a label: it is the whole text, as on a button."""
    if out.startswith("**"):
        return re.compile(rf"\s*…?\s*{re.escape(out.strip('*'))}\s*$")
    words = r"\s+".join(re.escape(each) for each in out.split())
    return re.compile(rf"(?<![\w-]){words}(?![\w/-])", re.IGNORECASE)


def without_terms(spoken: Iterable[Spoken]) -> list[Spoken]:
    return [each._replace(words=terms().sub("…", each.words)) for each in spoken]


def broken(spoken: Iterable[Spoken]) -> list[str]:
    return [
        f"{each.file.relative_to(ROOT)}:{each.line}: {rule.out!r}, write {rule.write}"
        for each in without_terms(spoken)
        for rule in rules()
        if rule.is_broken_by(each)
    ]


@reads_the_source
def test_pages_emails_and_messages_use_the_words_of_the_list() -> None:
    spoken = list(of_the_product())
    assert len(spoken) > 4_000
    assert broken(spoken) == []


@pytest.mark.parametrize(
    "page", [each for each in PAGES if each != WORDS], ids=lambda page: page.name
)
def test_the_docs_use_the_words_of_the_list(page: Path) -> None:
    assert broken(in_page(page)) == []


def test_every_file_that_the_list_names_is_there() -> None:
    paths = [each.relative_to(PACKAGE).as_posix() for each in PACKAGE.rglob("*.*")]
    named = {each for rule in rules() for each in rule.files}
    assert named
    assert [each for each in sorted(named) if not any(fnmatch(path, each) for path in paths)] == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.out)
def test_every_row_finds_its_own_words(rule: Rule) -> None:
    """A row that finds nothing, for want of a space or a bar, would check nothing."""
    label = rule.out.startswith("**")
    words = rule.out.strip("*")
    assert rule.pattern.search(words if label else f"It says {words}, and more.")


def test_a_word_that_is_ruled_out_is_found_wherever_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '{# Look #}<a class="look" aria-label="Earlier states">'
        '{{ "See it" if seen else "look" }}</a>'
        "<p>{{ icon('eye') }}Look</p>"
    )
    said = without_terms(in_template(page))
    found = [each for each in said if any(rule.is_broken_by(each) for rule in rules())]
    assert [each.words.strip() for each in found] == ["See it", "Earlier states", "…Look"]
