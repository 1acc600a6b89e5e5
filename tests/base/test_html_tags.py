"""All that reads HTML without a tree splits it in the same places."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.base.html_tags import MARKUP, TEXT
from masthead.engine.records.read.plain_text import plain_text
from masthead.faces.importers.platforms.wordpress.pieces import pieces_of

PIECE = re.compile(rf"(?P<text>{TEXT}) | {MARKUP}", re.VERBOSE | re.DOTALL)

SPLIT = {
    "a < b": ["a < b"],
    "<p>one</p>": ["<p>", "one", "</p>"],
    '<a title="a > b">c': ['<a title="a > b">', "c"],
    "<a title=it's>c": ["<a title=it's>", "c"],
    "<p don't>c": ["<p don't>", "c"],
    '<a title="open>c': ['<a title="open>c'],
    "<!-- a > b -->c": ["<!-- a > b -->", "c"],
    "<!-->c": ["<!-->", "c"],
    "<!-- a --!>c": ["<!-- a --!>", "c"],
    "<!-- open": ["<!-- open"],
    "<!DOCTYPE html>c": ["<!DOCTYPE html>", "c"],
    "<?php ?>c": ["<?php ?>", "c"],
    "</ >c": ["</ >", "c"],
    "<b/x=y>c": ["<b/x=y>", "c"],
}


@pytest.mark.parametrize("html", SPLIT)
def test_html_is_split_as_browsers_do(html: str) -> None:
    assert [piece[0] for piece in PIECE.finditer(html)] == SPLIT[html]
    assert [piece.text for piece in pieces_of(html)] == SPLIT[html]


@pytest.mark.parametrize("html", SPLIT)
def test_an_excerpt_has_the_text_between_the_markup(html: str) -> None:
    text = " ".join(each for each in SPLIT[html] if not each.startswith("<"))
    assert plain_text(html, 100) == text


@given(st.lists(st.sampled_from(["<", ">", "a", " ", '"', "'", "=", "/", "!--", "--", "\n"])))
def test_nothing_is_lost_or_read_twice(parts: list[str]) -> None:
    html = "".join(parts)
    assert "".join(piece[0] for piece in PIECE.finditer(html)) == html
    assert "".join(piece.text for piece in pieces_of(html)) == html
