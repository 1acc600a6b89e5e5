"""Links between the pages lead somewhere, and the files that they name are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
NAME_CODE = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/security.md",
    "docs/threat-model.md",
    "docs/asvs.md",
)

_LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FOLDER_ROW = re.compile(r"^\| ((?:`[a-z_0-9]+(?:/|\.py)` ?)+) \|", re.MULTILINE)
"""The first cell of a row about folders, or files, of the package."""
_CODE_PATH = re.compile(r"`((?:[a-z_0-9]+/)*(?:[a-z_0-9]+\.py|[a-z_0-9]+/))`")


@cache
def existing() -> str:
    """The files and folders of the code, one a line. A page may leave out where a path begins."""
    tops = [ROOT / top for top in ("src", "tests", "bench", "release", "docs")]
    found = [*tops, *(each for top in tops for each in top.rglob("*"))]
    return "".join(f"{each}/\n" if each.is_dir() else f"{each}\n" for each in found)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of the headings."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(page.read_text())
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for path, anchor in _LINK.findall(page.read_text()):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("name", NAME_CODE)
def test_every_file_of_the_code_that_a_page_names_is_there(name: str) -> None:
    named = set(_CODE_PATH.findall((ROOT / name).read_text()))
    assert [each for each in sorted(named) if f"/{each}" not in existing()] == []


@pytest.mark.parametrize("folder", ["docs", "docs/decisions"])
def test_the_index_of_a_folder_has_every_page(folder: str) -> None:
    index = ROOT / folder / "README.md"
    linked = {(index.parent / path).resolve() for path, _ in _LINK.findall(index.read_text())}
    own = {each.parent for each in index.parent.glob("*/README.md")}
    pages = [each for each in PAGES if each.is_relative_to(index.parent) and each != index]
    assert {each for each in pages if each.parent not in own} <= linked
    assert {each / "README.md" for each in own} <= linked


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_the_tables_of_folders_have_every_folder_of_the_package(name: str) -> None:
    rows = _FOLDER_ROW.findall((ROOT / name).read_text())
    listed = {each for row in rows for each in _CODE_PATH.findall(row)}
    package = ROOT / "src" / "masthead"
    folders = {f"{each.parent.name}/" for each in package.glob("*/__init__.py")}
    assert folders - listed == set()
