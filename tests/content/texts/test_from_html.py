"""HTML as the editor's document: the same said, in what the editor can hold, or nothing at all.

The measure is the service's own renderer, and an editor's schema that is as strict as TipTap's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prosemirror.model import Node, Schema
from tests.faces.importers.convert.plain_documents import said
from tests.tiers import rounds

from masthead.content.html.markup import cleaned
from masthead.content.texts.editor import render
from masthead.content.texts.from_html import to_document
from masthead.faces.importers.convert.image_urls import original_of


def converted(html: str) -> tuple[str, dict[str, Any] | None, str]:
    shown, tokens = cleaned(html)
    return (shown, *to_document(tokens, partial(original_of, site_url="https://old.example")))


def _attributes(*names: str) -> dict[str, Any]:
    return {name: {"default": None} for name in names}


def _block(content: str, *attributes: str) -> dict[str, Any]:
    return {"group": "block", "content": content, "attrs": _attributes(*attributes)}


_MARKS = "bold italic underline strike highlight subscript superscript code"
# Content as TipTap's extensions declare it, pictures inline as our own schema has them.
_STRICT: Any = {
    "nodes": {
        "doc": {"content": "block+"},
        "paragraph": _block("inline*", "textAlign"),
        "heading": _block("inline*", "level", "textAlign"),
        "blockquote": _block("block+"),
        "codeBlock": {**_block("text*", "language"), "marks": ""},
        "bulletList": _block("listItem+"),
        "orderedList": _block("listItem+", "start"),
        "listItem": {"content": "paragraph block*"},
        "taskList": _block("taskItem+"),
        "taskItem": {"content": "paragraph block*", "attrs": _attributes("checked")},
        "horizontalRule": {"group": "block"},
        "paywall": {"group": "block"},
        "table": _block("tableRow+"),
        "tableRow": {"content": "(tableCell | tableHeader)+"},
        "tableCell": {"content": "block+", "attrs": _attributes("colspan", "rowspan")},
        "tableHeader": {"content": "block+", "attrs": _attributes("colspan", "rowspan")},
        "figure": _block("inline*", "src", "alt", "title", "width", "height", "href"),
        "text": {"group": "inline"},
        "image": {
            "group": "inline",
            "inline": True,
            "attrs": _attributes("src", "alt", "title", "width", "height"),
        },
        "hardBreak": {"group": "inline", "inline": True},
    },
    "marks": {
        "link": {"attrs": _attributes("href", "title", "target", "rel")},
        **{name: {} for name in _MARKS.split()},
    },
}
_schema: Schema[Any, Any] = Schema(_STRICT)


def check_opens(document: dict[str, Any]) -> None:
    """An editor takes it as it is: nothing to repair, marks in its own order."""
    node = Node.from_json(_schema, document)
    node.check()
    # The library writes out what is left to its defaults.
    assert _bare(node.to_json()) == _bare(document)


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _bare(each) for key, each in value.items() if each is not None}
    return {key: each for key, each in kept.items() if each != {}}


@pytest.mark.parametrize(
    "html",
    [
        "<p>Plain</p>",
        "<p>One <strong>bold <em>both</em></strong> <a href='/x' title=t>link <b>b</b></a></p>",
        "bare <i>text</i><p>and a paragraph</p>more",
        "<div><div>text</div><p>x</p></div>",
        "<h1>a</h1><h6 style='text-align:right'>b</h6><h2 id=unused>c</h2>",
        "<p style='text-align: center'>middle</p>",
        "<ul><li>a</li><li><p>b</p><ul><li>c<ol start=3><li>d</li></ol></li></ul></li></ul>",
        "<ol><li></li></ol>",
        "<blockquote>said<p>and done</p></blockquote>",
        "<pre>  raw\n\ttext </pre><pre><code class='language-c#'>x &lt; y\n</code></pre>",
        "<pre>\n\ntwo line ends<br>x</pre>",
        "<p>a<br>b<br></p><hr>",
        "<p></p><p>&nbsp;</p>",
        "<table><thead><tr><th>h<th>i</thead><tr><td colspan=2>a<p>b</table>",
        "<table><tr><td></td><td rowspan=2><ul><li>x</li></ul></td></tr></table>",
        "<figure><table><tr><td>x</td></tr></table></figure>",
        "<figure><a href='/a.jpg'><img src='/a.jpg' alt='x' width=3></a></figure>",
        "<figure><img src=a.jpg alt=x width=3> <figcaption>The <i>text</i></figcaption></figure>",
        "<figure>\n<p><img src=a.jpg></p><figcaption></figcaption>\n</figure>after",
        "<figure><a href='/a.jpg'><img src=a.jpg></a><figcaption><b>c</b></figcaption></figure>",
        "<a href='/a.jpg'><figure><img src=a.jpg><figcaption>c<br>d</figcaption></figure></a>",
        "<figure><figure><img src=a><figcaption>a</figcaption></figure>"
        "<figure><img src=b><figcaption>b</figcaption></figure><img src=c></figure>",
        "<ul><li>a<figure><img src=a><figcaption>c</figcaption></figure></li></ul>",
        "<p>a <img src='a.jpg' title='t' height='20'> b</p>",
        "<img src='/wp-content/a-300x200.jpg' srcset='/wp-content/a.jpg 900w' sizes='100vw'>",
        "<picture><source srcset='/wp-content/a-1x20.jpg'><img src='/wp-content/a.jpg'></picture>",
        "<a href='/x'><div><picture><img src='a.jpg'></picture></div></a>",
        "<img src='data:image/png;base64,AAAA'>",
        "<p><a href='https://a.example' target=_blank>x</a> <a>no link</a></p>",
        "<p>H<sub>2</sub>O<sup>2</sup> <mark>m</mark> <u>u</u> <del>d</del> <code>c</code></p>",
        "<p>a <b> b </b> c</p> <p> d </p>",
        "<b>a<p>b</p></b>",
        "<p>See <a href='#end'>the end</a></p>",
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true"><label><input '
        'type="checkbox" checked></label><div><p>done</p></div></li><li data-type="taskItem" '
        'data-checked="false"><label><input type="checkbox"></label><div><p></p></div></li></ul>',
    ],
)
def test_what_the_editor_can_hold(html: str) -> None:
    shown, document, reason = converted(html)
    assert document is not None, reason
    check_opens(document)
    assert said(render(document) or "") == said(shown)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (
            "<figure><table><tr><td>x</table><figcaption>c</figcaption></figure>",
            "a caption of something other than a picture",
        ),
        (
            "<figure><figcaption>c</figcaption><img src=a></figure>",
            "a caption of something other than a picture",
        ),
        (
            "<figure><img src=a><img src=b><figcaption>c</figcaption></figure>",
            "a caption of something other than a picture",
        ),
        (
            "<figure><img src=a><figcaption>c</figcaption><p>d</p></figure>",
            "a caption of several things",
        ),
        (
            "<figure><blockquote><img src=a><figcaption>c</figcaption></blockquote></figure>",
            "a caption of something other than a picture",
        ),
        ("<img src=a><figcaption>c</figcaption>", "a caption of something other than a picture"),
        (
            "<figure><a href=b target=_blank><img src=a></a><figcaption>c</figcaption></figure>",
            "a caption under a picture with a mark",
        ),
        (
            "<figure><img src=a><figcaption><p>c</p></figcaption></figure>",
            "<p> inside another text",
        ),
        ("<p><abbr title=x>y</abbr></p>", "<abbr>"),
        ("<video src=a.mp4></video>", "<video>"),
        ("<details><summary>a</summary>b</details>", "<details>"),
        ("<p lang=de>x</p>", "lang on <p>"),
        ("<span dir=rtl>x</span>", "dir on <span>"),
        ("<div style='background:url(a)'>x</div>", "style on <div>"),
        ("<h2 id=a>x</h2><a href='#a'>up</a>", "id on <h2>"),
        ("<ol reversed><li>a</ol>", "reversed on <ol>"),
        ("<ol type=a><li>a</ol>", "type on <ol>"),
        ("<ul></ul>", "a bulletList without content"),
        ("<ul>text</ul>", "text between the parts of a list or table"),
        ("<ul><ul><li>a</ul></ul>", "<ul> inside another text"),
        ("<li>alone</li>", "a list item outside of its list"),
        ("<ul><li><h2>a</h2></ul>", "a list item that does not begin with text"),
        ("<h2><p>a</p></h2>", "<p> inside another text"),
        ("<table><caption>c</caption><tr><td>a</table>", "<caption>"),
        ("<table><thead><tr><td>a</thead></table>", "a table's head with plain cells"),
        ("<table><tr><td style='text-align:right'>a</table>", "style on <td>"),
        ("<table><tr><td colspan=2000>a</table>", "a cell over more than 1,000 others"),
        ("<pre><b>a</b></pre>", "<b> inside code"),
        ("<b><pre>a</pre></b>", "a code block inside a link or other mark"),
        (
            "<a href=x><table><tr><td><a href=y>z</a></td></tr></table></a>",
            "a link inside a link",
        ),
        ("<pre><a href=x>a</a></pre>", "<a> inside code"),
        ("<pre><img src=a></pre>", "<img> inside code"),
        (
            "<picture><source srcset=a.avif><img src=a.jpg></picture>",
            "a picture in several versions",
        ),
        ("<img src='data:image/svg+xml,x'>", "a picture inside its own address"),
        ("<label>x</label>", "<label>"),
        ("<blockquote><label>x</label></blockquote>", "<label>"),
        ("<blockquote>" * 99 + "x", ""),
        ("<i>x</i> y " * 10_001, "more than 20,000 parts"),
    ],
)
def test_what_it_can_not(html: str, reason: str) -> None:
    _, document, found = converted(html)
    assert found == reason
    assert (document is None) == bool(reason)


def test_the_deepest_document_is_one_that_the_renderer_takes() -> None:
    _, document, _ = converted("<blockquote>" * 98 + "x")
    assert document is not None
    assert render(document)


_TEXT = st.sampled_from(
    [
        "word",
        " ",
        "two words",
        "a\n b",
        "&lt;i&gt;",
        "&amp;",
        "\xa0",
        " x",
        "y ",
        "é",
        "<br>",
        "<br> ",
    ]
)
_PICTURES = st.sampled_from(["<img src=a.jpg>", "<img src=b.jpg alt=x width=10>"])


def _wrapped(*tags: str) -> Any:
    """Several of a kind inside of one of the tags, which may be written as a path of them."""

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        several = st.lists(inner, max_size=3).map("".join)
        return st.builds(_within, st.sampled_from(tags), several)

    return extend


def _within(path: str, text: str) -> str:
    names = path.split("/")
    opened = "".join(f"<{name}>" for name in names)
    return opened + text + "".join(f"</{name.split()[0]}>" for name in reversed(names))


_INLINE = st.recursive(
    st.one_of(_TEXT, _PICTURES),
    _wrapped("b", "strong", "i", "u", "code", "sub", "a href=x", "a", "span", "del"),
    max_leaves=6,
)
_TEXT_BLOCKS = st.builds(
    lambda tag, text: f"<{tag}>{''.join(text)}</{tag.split()[0]}>",
    st.sampled_from(["p", "h2", "h3 id=x", "p style='text-align:center'", "pre", "p align=left"]),
    st.lists(_INLINE, max_size=4),
)
_FIGURES = st.builds(
    lambda picture, shown, text: (
        f"<figure>{shown.format(picture)}<figcaption>{''.join(text)}</figcaption></figure>"
    ),
    _PICTURES,
    st.sampled_from(["{}", "<a href=z>{}</a>\n", "<i>{}</i>", "<p>{}</p>", "{} text"]),
    st.lists(_INLINE, max_size=3),
)
_BLOCKS = st.recursive(
    st.one_of(_TEXT_BLOCKS, _FIGURES, _INLINE, st.just("<hr>"), st.just("\n")),
    _wrapped(
        "div",
        "blockquote",
        "ul/li",
        "ol start=2/li",
        "ul/li/p",
        "figure",
        "figure/figcaption",
        "figcaption",
        "table/tr/td",
        "table/thead/tr/th colspan=2",
        "table/tbody/tr/td",
        "a href=y",
        "b",
        # No place for these.
        "ul",
        "li",
        "td",
        "section",
    ),
    max_leaves=10,
)


@settings(max_examples=rounds(160, 1200), deadline=None)
@given(st.lists(_BLOCKS, max_size=4).map("".join))
def test_nothing_is_lost_in_any_document(html: str) -> None:
    shown, document, reason = converted(html)
    assert bool(reason) == (document is None)
    if document is None or not document["content"]:
        return
    check_opens(document)
    assert said(render(document) or "") == said(shown)


_WORDS = st.text("abc <&>\"'\xa0é", min_size=1, max_size=8).filter(
    lambda text: text.strip(" ") == text and "  " not in text
)
_SOME_MARKS: list[Any] = [
    {"type": "link", "attrs": {"href": "https://a.example/?a=1&b=2", "title": 'a "t"'}},
    *({"type": name} for name in ("bold", "italic", "strike", "code")),
]
_MARK_SETS = st.lists(
    st.sampled_from(_SOME_MARKS), max_size=2, unique_by=lambda mark: str(mark["type"])
)


def _text_node(text: str, marks: list[Any]) -> dict[str, Any]:
    order = ["link", "bold", "italic", "strike", "code"]
    ordered = sorted(marks, key=lambda mark: order.index(mark["type"]))
    return {"type": "text", "text": text} | ({"marks": ordered} if ordered else {})


def _joined(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbours with the same marks are one text, as an editor keeps them."""
    joined: list[dict[str, Any]] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if (
            last
            and node["type"] == last["type"] == "text"
            and node.get("marks") == last.get("marks")
        ):
            last["text"] += node["text"]
        else:
            joined.append(dict(node))
    return joined


_IMAGES = st.builds(
    lambda alt, width: {
        "type": "image",
        "attrs": {"src": "https://a.example/p.png"} | ({"alt": alt} if alt else {}) | width,
    },
    st.sampled_from(["", "x", 'a "q" <b>']),
    st.sampled_from([{}, {"width": 30}]),
)
_INLINE_NODES = st.lists(
    st.one_of(st.builds(_text_node, _WORDS, _MARK_SETS), _IMAGES, st.just({"type": "hardBreak"})),
    max_size=4,
).map(_joined)


def _node(kind: str, content: list[Any], **attributes: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"type": kind}
    if attributes:
        node["attrs"] = attributes
    if content:
        node["content"] = content
    return node


_PARAGRAPHS = _INLINE_NODES.map(lambda inline: _node("paragraph", inline))
_LEAVES = st.one_of(
    _PARAGRAPHS,
    st.builds(
        lambda inline, level: _node("heading", inline, level=level, textAlign="center"),
        _INLINE_NODES,
        st.integers(1, 6),
    ),
    st.sampled_from(["", "\n", "a\n  b", "\n\nx <y>", "z\n"]).map(
        lambda text: _node("codeBlock", [_text_node(text, [])] if text else [], language="py")
    ),
    st.just({"type": "horizontalRule"}),
    st.just({"type": "paywall"}),
    st.builds(
        lambda caption, more: _node("figure", caption, src="https://a.example/p.png", **more),
        _INLINE_NODES,
        st.sampled_from([{}, {"alt": "x", "width": 30}, {"href": "https://a.example/p"}]),
    ),
)


def _containers(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    blocks = st.lists(inner, min_size=1, max_size=3)
    items = st.builds(lambda first, rest: [first, *rest], _PARAGRAPHS, st.lists(inner, max_size=2))
    return st.one_of(
        blocks.map(lambda content: _node("blockquote", content)),
        items.map(lambda content: _node("bulletList", [_node("listItem", content)])),
        items.map(lambda content: _node("orderedList", [_node("listItem", content)], start=4)),
        items.map(lambda content: _node("taskList", [_node("taskItem", content, checked=True)])),
        blocks.map(
            lambda content: _node(
                "table",
                [
                    _node("tableRow", [_node("tableHeader", [_node("paragraph", [])])]),
                    _node("tableRow", [_node("tableCell", content, colspan=2)]),
                ],
            )
        ),
    )


@settings(max_examples=rounds(120, 900), deadline=None)
@given(st.lists(st.recursive(_LEAVES, _containers, max_leaves=6), min_size=1, max_size=4))
def test_what_an_editor_wrote_comes_back(blocks: list[dict[str, Any]]) -> None:
    """Our own exports hold what the renderer made; the document behind it is found again."""
    original = {"type": "doc", "content": blocks}
    rendered = render(original) or ""
    shown, document, reason = converted(rendered)
    assert document is not None, reason
    check_opens(document)
    assert said(shown) == said(rendered)
    assert document == original
