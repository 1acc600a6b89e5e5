"""Lexical documents become the HTML that Ghost would have made, without its styles."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.faces.importers.platforms.ghost.lexical import MAX_DEPTH, render_lexical


def document(*children: dict[str, Any]) -> dict[str, Any]:
    return {"root": {"type": "root", "children": list(children)}}


def words(text: str, bits: int = 0) -> dict[str, Any]:
    return {"type": "extended-text", "text": text, "format": bits}


def element(kind: str, *children: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {"type": kind, "children": list(children), **about}


def rendered(*children: dict[str, Any]) -> str:
    html, unknown = render_lexical(document(*children))
    assert not unknown
    return html


ITEM = element("listitem", words("one"))
NESTED = element("listitem", element("list", element("listitem", words("in")), listType="bullet"))


@pytest.mark.parametrize(
    ("node", "html"),
    [
        (element("paragraph", words("a < b & c")), "<p>a &lt; b &amp; c</p>"),
        (element("paragraph"), ""),
        (element("paragraph", words("x", 1)), "<p><strong>x</strong></p>"),
        (element("paragraph", words("x", 2 | 1)), "<p><strong><em>x</em></strong></p>"),
        (element("paragraph", words("x", 4)), "<p><s>x</s></p>"),
        (element("paragraph", words("x", 8)), "<p><u>x</u></p>"),
        (element("paragraph", words("x", 16)), "<p><code>x</code></p>"),
        (element("paragraph", words("x", 32)), "<p><sub>x</sub></p>"),
        (element("paragraph", words("x", 64)), "<p><sup>x</sup></p>"),
        (element("paragraph", words("x", 128)), "<p><mark>x</mark></p>"),
        (
            element("paragraph", words("a"), {"type": "linebreak"}, words("b")),
            "<p>a<br>b</p>",
        ),
        (
            element("paragraph", element("link", words("x"), url="/?a=1&b", rel="nofollow")),
            '<p><a href="/?a=1&amp;b" rel="nofollow">x</a></p>',
        ),
        (element("paragraph", element("link", words("x"), url=None)), "<p>x</p>"),
        (element("extended-heading", words("x"), tag="h3"), "<h3>x</h3>"),
        (element("heading", words("x"), tag="script"), "<h2>x</h2>"),
        (element("extended-quote", words("x")), "<blockquote><p>x</p></blockquote>"),
        (element("aside", words("x")), "<blockquote><p>x</p></blockquote>"),
        (element("list", ITEM, ITEM, listType="bullet"), "<ul><li>one</li><li>one</li></ul>"),
        (element("list", ITEM, listType="number", start=3), '<ol start="3"><li>one</li></ol>'),
        (
            element("list", ITEM, NESTED, ITEM, listType="number", start=1),
            "<ol><li>one<ul><li>in</li></ul></li><li>one</li></ol>",
        ),
        ({"type": "horizontalrule"}, "<hr>"),
        (
            {"type": "codeblock", "code": "a<b", "language": "c"},
            '<pre><code class="language-c">a&lt;b</code></pre>',
        ),
        ({"type": "paywall"}, '<hr class="paywall">'),
        # A part of somebody's own making keeps its words.
        (element("plugin-box", element("paragraph", words("kept"))), "<p>kept</p>"),
    ],
)
def test_nodes(node: dict[str, Any], html: str) -> None:
    assert rendered(node) == html


def test_a_card_that_nobody_knows_is_named() -> None:
    html, unknown = render_lexical(document({"type": "nft", "url": "https://x.example"}))
    assert html == ""
    assert unknown == {"nft"}


@pytest.mark.parametrize(
    "other", [None, [], "text", {}, {"root": []}, {"root": {}}, {"root": {"children": {}}}]
)
def test_other_json_is_no_document(other: object) -> None:
    with pytest.raises(ValueError):
        render_lexical(other)


@pytest.mark.parametrize(
    "child",
    [
        None,
        "text",
        [],
        {},
        {"type": None},
        {"type": ["paragraph"]},
        {"type": "text", "text": {}, "format": "bold"},
        {"type": "list", "children": [None, {"children": "x"}]},
        {"type": "link", "children": [{"type": "text", "text": "x"}], "url": {}},
        {"type": "image", "src": 5, "caption": []},
        {"type": "gallery", "images": {"0": {}}},
        {"type": "gallery", "images": [None, {"src": None}]},
        {"type": "bookmark", "url": "https://x.example", "metadata": []},
        {"type": "product", "productStarRating": "5", "productRatingEnabled": True},
        {"type": "embed", "html": None, "metadata": 5},
    ],
)
def test_wrong_types_in_a_document_are_no_error(child: Any) -> None:
    html, _ = render_lexical(document(child))
    assert isinstance(html, str)


def test_deep_nesting_ends_somewhere() -> None:
    node = words("deep")
    for _ in range(MAX_DEPTH * 5):
        node = element("aside", node)
    assert "deep" not in rendered_any(node)


def rendered_any(node: dict[str, Any]) -> str:
    return render_lexical(document(node))[0]
