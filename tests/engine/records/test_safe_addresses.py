"""URLs are parsed as in browsers, whatever comes before the scheme."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.engine.records.safe_addresses import (
    safe_link,
    safe_picture,
    safe_relation,
    safe_source,
)

BLANKS = st.text(st.sampled_from([*map(chr, range(0x21)), "\xa0", "\u200b", "\ufeff"]), max_size=4)
ACTING = st.sampled_from(["javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///x"])


@given(BLANKS, ACTING, st.integers(0, 3), st.sampled_from(["", "\t", "\n", "\r", "\t\n"]))
def test_no_blank_or_control_character_hides_a_scheme(
    front: str, acting: str, at: int, inside: str
) -> None:
    for written in (acting, acting.upper()):
        address = front + written[:at] + inside + written[at:]
        assert safe_link(address) == ""
        assert safe_source(address) == ""
        assert safe_picture(address) == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://a.example/x?y:z", "https://a.example/x?y:z"),
        (" \x01https://a.example/\n", "https://a.example/"),
        ("ht\ttps://a.example/\na", "https://a.example/a"),
        ("//a.example/x", "//a.example/x"),
        ("/posts/x#y:z", "/posts/x#y:z"),
        ("a/b c", "a/b c"),
        ("MAILTO:a@b.example", "MAILTO:a@b.example"),
        ("tel:123", "tel:123"),
        ("", ""),
    ],
)
def test_a_link_stays_as_browsers_read_it(written: str, read: str) -> None:
    assert safe_link(written) == read


def test_only_images_may_have_data_urls() -> None:
    picture = "data:image/png;base64,AAAA"
    assert safe_picture(f" {picture}") == picture
    assert safe_link(picture) == safe_source(picture) == ""
    assert safe_source("mailto:a@b.example") == safe_picture("mailto:a@b.example") == ""


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("opener", ""),
        ("nofollow OPENER noopener", "nofollow noopener"),
        ("noopener", "noopener"),
        ('"><script>', ""),
    ],
)
def test_rel_never_contains_opener(given: str, left: str) -> None:
    assert safe_relation(given) == left
