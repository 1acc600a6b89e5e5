"""HTML is changed in trees and comes back whole, or is not touched."""

from __future__ import annotations

import pytest

from masthead.faces.importers.convert.fragments import MAX_ELEMENTS, inner_html, parsed, replace


@pytest.mark.parametrize(
    "html",
    [
        "",
        "plain &amp; simple",
        "<p>one</p>between<p>two</p>after",
        "<p>é 😀 שלום</p>",
        '<p><a href="/?a=1&amp;b=2">x</a></p>',
    ],
)
def test_well_formed_html_comes_back_as_it_was(html: str) -> None:
    root = parsed(html)
    assert root is not None
    assert inner_html(root) == html


def test_a_stray_end_tag_loses_nothing() -> None:
    root = parsed("<p>one</p></div><p>two</p>")
    assert root is not None
    assert "one" in inner_html(root)
    assert "two" in inner_html(root)


@pytest.mark.parametrize("html", ["<div>" * 5_000 + "deep", "<br>" * (MAX_ELEMENTS + 1)])
def test_what_the_parser_would_cut_is_not_parsed(html: str) -> None:
    assert parsed(html) is None


@pytest.mark.parametrize(
    ("html", "new", "result"),
    [
        ("a<i>x</i>b", "", "ab"),
        ("a<i>x</i>b", "new", "anewb"),
        ("a<i>x</i>b", "<b>1</b>2<b>3</b>4", "a<b>1</b>2<b>3</b>4b"),
        ("<i>x</i>", "<b>1</b>", "<b>1</b>"),
        ("<u>0</u>a<i>x</i>b<u>9</u>", "mid<b>1</b>", "<u>0</u>amid<b>1</b>b<u>9</u>"),
    ],
)
def test_an_element_is_replaced_and_its_neighbours_stay(html: str, new: str, result: str) -> None:
    root = parsed(html)
    assert root is not None
    replace(root.find(".//i"), new)
    assert inner_html(root) == result
