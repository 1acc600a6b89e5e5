"""The pictures in the README and the docs show the pages as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs import pictures
from tests.docs.pictures import ADMIN, IMAGES, NAMES, ROOT, digest, outdated
from tests.tiers import representatives

_SHOWN = re.compile(r"!\[[^\]]*\]\((?:docs/)?images/([\w-]+)\.webp\)")


def test_no_picture_is_older_than_the_templates_and_styles_that_it_shows() -> None:
    assert outdated() == [], "make screenshots ONLY=docs"


def test_every_picture_is_made_and_shown() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {name for page in pages for name in _SHOWN.findall(page.read_text())}
    assert shown == set(NAMES)
    assert {each.stem for each in IMAGES.glob("*.webp")} == set(NAMES)


@pytest.mark.parametrize(
    "changed", representatives(["home.html", "layout.html", "ui/icon.html"]), ids=lambda name: name
)
def test_a_change_of_a_template_is_found(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "templates"
    for path in pictures.TEMPLATES.rglob("*.html"):
        target = copy / path.relative_to(pictures.TEMPLATES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    before = {name: digest(name) for name in ADMIN}
    monkeypatch.setattr(pictures, "TEMPLATES", copy)
    assert {name: digest(name) for name in ADMIN} == before
    (copy / changed).write_text((copy / changed).read_text() + "<p>New</p>")
    assert digest("admin-home") != before["admin-home"]
    assert (digest("admin-staff") != before["admin-staff"]) is (changed != "home.html")


def test_a_change_of_a_style_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest("site-home")
    monkeypatch.setattr(pictures, "joined_file", lambda path: path.name.encode())
    assert digest("site-home") != before
