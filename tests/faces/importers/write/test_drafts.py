"""How an item's values are made to fit, and what counts as a change of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.faces.importers.write.exports import post

from masthead.faces.importers.platforms.exports import id_namespace, open_export
from masthead.faces.importers.source import BadFile, Options, Overview, SourceMember
from masthead.faces.importers.write.drafts import Body, draft_of, fingerprint, prints_of
from masthead.faces.importers.write.file_names import safe_name
from masthead.faces.importers.write.previous_imports import LONGEST_KEY, key_of

BODY = Body("<p>Text</p>")


@pytest.mark.parametrize(
    ("title", "slug", "expected"),
    [
        ("Hello", "hello", "hello"),
        ("Hello", "", "hello"),
        ("Hello big world", "with blank", "hello-big-world"),
        ("Привет", "%d0%bf%d1%80%d0%b8", "при"),
        ("Привет", "", "privet"),
        ("Hello", "a/b", "hello"),
        ("Hello", "%ff%fe", "hello"),
        ("Hello", "x" * 300, "hello"),
        ("", "", "untitled"),
    ],
)
def test_slugs(title: str, slug: str, expected: str) -> None:
    assert draft_of(post(1, title=title, slug=slug), BODY).slug == expected


def test_a_page_at_an_address_of_the_service_gets_a_number_and_a_warning() -> None:
    draft = draft_of(post(1, kind="page", title="Search", slug="search"), BODY)
    assert draft.slug == "search-2"
    assert "/search" in draft.warnings[0]
    assert draft_of(post(1, title="Search", slug="search"), BODY).slug == "search"


@pytest.mark.parametrize(
    ("given", "name", "expected", "warnings"),
    [
        ({"title": " "}, "title", "(Untitled)", 0),
        ({"title": "t" * 256}, "title", "t" * 255, 1),
        ({"tags": ("a", " a ", "", "b")}, "tags", ["a", "b"], 0),
        ({"tags": ("t" * 101,)}, "tags", ["t" * 100], 1),
        ({"tags": tuple(map(str, range(101)))}, "tags", [str(each) for each in range(100)], 1),
        ({"seo_description": "d" * 161}, "seo_description", "d" * 160, 1),
    ],
)
def test_values_that_do_not_fit(
    given: dict[str, Any], name: str, expected: object, warnings: int
) -> None:
    draft = draft_of(post(1, **given), BODY)
    assert draft.values[name] == expected
    assert len(draft.warnings) == warnings


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://old.example/a.png", "https://old.example/a.png"),
        ("/media/x/a.png", "/media/x/a.png"),
        ("javascript:alert(1)", ""),
        ("https://old.example/" + "x" * 2_048, ""),
    ],
)
def test_only_an_address_is_a_featured_image(address: str, expected: str) -> None:
    draft = draft_of(post(1), replace(BODY, featured_image=address))
    assert draft.values["featured_image"] == expected
    assert len(draft.warnings) == (not expected)


def test_a_draft_has_no_date_of_publication() -> None:
    draft = draft_of(post(1, status="draft"), BODY)
    assert "published_at" not in draft.values


def test_a_fingerprint_is_of_everything_but_warnings() -> None:
    one = post(1)
    assert prints_of(one) == prints_of(replace(one, warnings=("a new reader's remark",)))
    assert prints_of(one) != prints_of(replace(one, tags=("new",)))
    member = SourceMember("a@example.com")
    assert fingerprint(member) != fingerprint(replace(member, newsletter=False))


def test_an_id_of_any_length_is_a_key() -> None:
    assert key_of("post:1") == "post:1"
    assert len(key_of("x" * 10_000)) <= LONGEST_KEY
    assert key_of("x" * 10_000) != key_of("x" * 10_001)


@pytest.mark.parametrize(
    ("platform", "site_url", "expected"),
    [
        ("wordpress", "https://www.Old.example/blog", "wordpress old.example"),
        ("wordpress", "http://old.example", "wordpress old.example"),
        ("wordpress", "", "wordpress"),
        ("ghost", "https://old.example", "ghost"),
        ("substack", "", "substack"),
    ],
)
def test_what_ids_are_unique_in(platform: Any, site_url: str, expected: str) -> None:
    assert id_namespace(Overview(platform, site_url)) == expected


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        open_export("ghost", tmp_path / "none.json", Options())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("export.json", "export.json"),
        ("../../etc/passwd", "passwd"),
        ("..", "export"),
        ("C:\\exports\\my export.zip", "my_export.zip"),
        ("a\0b", "a_b"),
        ("", "export"),
        ("x" * 300 + ".json", "x" * 55 + ".json"),
    ],
)
def test_the_name_of_an_upload_is_only_a_name(given: str, expected: str) -> None:
    assert safe_name(given) == expected
