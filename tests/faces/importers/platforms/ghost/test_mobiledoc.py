"""Mobiledoc documents become HTML: markers open and close tags, cards stand between sections."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.faces.importers.platforms.ghost.mobiledoc import render_mobiledoc


def rendered(*sections: list[Any], **parts: Any) -> str:
    html, unknown = render_mobiledoc({"version": "0.3.1", "sections": list(sections), **parts})
    assert not unknown
    return html


MARKUPS = [["strong"], ["em"], ["a", ["href", "/?a=1&b=2", "title", "T"]], ["script"]]


@pytest.mark.parametrize(
    ("section", "html"),
    [
        ([1, "p", [[0, [], 0, "a < b"]]], "<p>a &lt; b</p>"),
        ([1, "P", [[0, [], 0, "x"]]], "<p>x</p>"),
        ([1, "h2", [[0, [], 0, "x"]]], "<h2>x</h2>"),
        ([1, "blockquote", [[0, [], 0, "x"]]], "<blockquote><p>x</p></blockquote>"),
        ([1, "aside", [[0, [], 0, "x"]]], "<blockquote><p>x</p></blockquote>"),
        ([1, "p", []], ""),
        (
            [1, "p", [[0, [0], 0, "bold "], [0, [1], 2, "both"], [0, [], 0, " none"]]],
            "<p><strong>bold <em>both</em></strong> none</p>",
        ),
        (
            [1, "p", [[0, [2], 1, "link"]]],
            '<p><a href="/?a=1&amp;b=2" title="T">link</a></p>',
        ),
        ([1, "p", [[0, [3], 1, "kept"]]], "<p>kept</p>"),
        ([1, "p", [[0, [0], 0, "left open"]]], "<p><strong>left open</strong></p>"),
        ([1, "p", [[0, [], 9, "closed too often"]]], "<p>closed too often</p>"),
        ([1, "p", [[0, [99], 1, "no such tag"]]], "<p>no such tag</p>"),
        ([1, "p", [[0, [], 0, "a"], [1, [], 0, 0], [0, [], 0, "b"]]], "<p>a<br>b</p>"),
        ([2, "/a.png"], '<p><img src="/a.png" alt=""></p>'),
        (
            [3, "ol", [[[0, [], 0, "one"]], [[0, [], 0, "two"]]]],
            "<ol><li>one</li><li>two</li></ol>",
        ),
        ([10, 0], "<hr>"),
        ([10, 1], "<p><strong>md</strong></p>"),
        ([10, 99], ""),
        ([10, -1], ""),
    ],
)
def test_sections(section: list[Any], html: str) -> None:
    cards = [["hr", {}], ["card-markdown", {"markdown": "**md**"}]]
    assert rendered(section, markups=MARKUPS, cards=cards, atoms=[["soft-return", "", {}]]) == html


def test_a_card_that_nobody_knows_is_named() -> None:
    sections = [[10, 0]]
    html, unknown = render_mobiledoc(
        {"version": "0.3.2", "sections": sections, "cards": [["nft", {}]]}
    )
    assert html == ""
    assert unknown == {"nft"}


@pytest.mark.parametrize(
    ("parts", "section"),
    [
        ({"cards": [["html", {"html": "x" * 100_000}]]}, [10, 0]),
        ({"markups": [["a", ["href", "x" * 100_000]]]}, [1, "p", [[0, [0], 1, "x"]]]),
        ({"atoms": [["mention", "x" * 100_000]]}, [1, "p", [[1, [], 0, 0]]]),
    ],
)
def test_a_part_that_is_named_again_and_again_ends_somewhere(
    parts: dict[str, Any], section: list[Any]
) -> None:
    with pytest.raises(ValueError, match="more text"):
        render_mobiledoc({"version": "0.3.1", "sections": [section] * 100_000, **parts})


@pytest.mark.parametrize(
    "other",
    [
        None,
        [],
        {},
        {"sections": []},
        {"version": "0.2.0", "sections": [[], []]},
        {"version": "0.3"},
    ],
)
def test_other_json_is_no_document(other: object) -> None:
    with pytest.raises(ValueError):
        render_mobiledoc(other)


@pytest.mark.parametrize(
    "section",
    [
        None,
        [],
        [1],
        [1, "p"],
        [1, "p", None],
        [1, "p", [None, [], [0], [0, 0, 0, "x"], [0, [None, {}], 0, "x"], [0, [], 0, {}]]],
        [1, "p", [[1, [], 0, "x"], [1, [], 0, 50]]],
        [3, "ul", [None, {}]],
        [10, "0"],
        [10, 0],
        [10, 1],
        [99, 99],
    ],
)
def test_wrong_types_in_a_document_are_no_error(section: Any) -> None:
    parts = {"markups": [None, ["a", [1, 2]], ["a", "x"]], "cards": [None, [5]], "atoms": [[]]}
    html, _ = render_mobiledoc({"version": "0.3.1", "sections": [section], **parts})
    assert isinstance(html, str)
