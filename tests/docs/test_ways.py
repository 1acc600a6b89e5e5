"""Pages, emails and messages send people to pages of the admin that exist, and to no shell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

import masthead
from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.routes import admin_routes
from masthead.service.cli.main import COMMANDS
from masthead.web.dispatch import Route

ROOT = Path(__file__).parents[2]
PACKAGE = Path(masthead.__file__).parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEMPLATES = [
    *sorted((PACKAGE / "faces" / "admin" / "templates").rglob("*.html")),
    *sorted((PACKAGE / "outside" / "mail" / "templates").glob("*.*")),
    *sorted((PACKAGE / "faces" / "reader" / "themes").rglob("*.html")),
]
FACES = [
    each
    for folder in ("admin", "ai", "comments", "members", "password_reset", "reader", "web")
    for each in sorted((PACKAGE / folder).rglob("*.py"))
]
"""Pages for people and their programs; the command line is for operators."""
_ADDRESS = re.compile(r"(?<![\w/])/admin(?:/[\w<>-]+)*(?![\w/.])")
_IN_CODE = re.compile(r'"(/admin(?:/[a-z-]*[a-z])*)["?#]')
_COMMAND = re.compile(rf"(?<!from )\bmasthead (?:{'|'.join(COMMANDS)})\b")


def routes() -> list[Route]:
    # Without the last one, which takes what no other does.
    return admin_routes(AdminPages(cast(Any, None), cast(Any, None)))[:-1]


def leads_nowhere(address: str) -> bool:
    path = re.sub("<[^>]*>", "aaaaaaaaaaaaaaa", address)
    return all(each.match(path) is None for each in routes())


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_address_of_the_admin_in_the_docs_is_a_page(page: Path) -> None:
    assert [each for each in set(_ADDRESS.findall(page.read_text())) if leads_nowhere(each)] == []


def test_every_address_of_the_admin_in_templates_and_messages_is_a_page() -> None:
    found = {each for path in (*TEMPLATES, *FACES) for each in _IN_CODE.findall(path.read_text())}
    assert len(found) > 20
    assert sorted(each for each in found if leads_nowhere(each)) == []


@pytest.mark.parametrize("path", [*TEMPLATES, *FACES], ids=lambda path: path.name)
def test_no_page_mail_or_message_sends_a_person_to_a_shell(path: Path) -> None:
    assert _COMMAND.findall(path.read_text()) == []


def test_an_import_names_flags_where_the_admin_leaves_them_out() -> None:
    """Its sentences are shown in both: a flag stands in parentheses, which pages take away."""
    texts = [path.read_text() for path in sorted((PACKAGE / "faces" / "importers").rglob("*.py"))]
    bare = re.compile(r'(?<!")"[^"\n]*(?<!\()--[a-z][^"\n]*"(?!")')
    assert [found for text in texts for found in bare.findall(text)] == []
