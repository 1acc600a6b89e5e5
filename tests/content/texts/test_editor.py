"""Editor documents as HTML: complete, escaped, limited, and up to date."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world import TenantWorld, records_of

from masthead.base.errors import Invalid
from masthead.content.texts.editor import MAX_DEPTH, MAX_HTML, MAX_NODES, render


def doc(*content: Any) -> dict[str, Any]:
    return {"type": "doc", "content": list(content)}


def node(kind: str, *content: Any, **attrs: Any) -> dict[str, Any]:
    return {"type": kind, "attrs": attrs, "content": list(content)}


def text(words: str, *marks: str | dict[str, Any]) -> dict[str, Any]:
    given = [{"type": mark} if isinstance(mark, str) else mark for mark in marks]
    return {"type": "text", "text": words, "marks": given}


def link(**attrs: Any) -> dict[str, Any]:
    return {"type": "link", "attrs": attrs}


def paragraph(words: str) -> dict[str, Any]:
    return node("paragraph", text(words))


NODES = [
    (node("paragraph", text('It\'s <b> & "so"')), '<p>It\'s &lt;b&gt; &amp; "so"</p>'),
    (node("paragraph"), "<p></p>"),
    (
        node("paragraph", text("x"), textAlign="center"),
        '<p style="text-align: center">x</p>',
    ),
    (node("heading", text("x"), level=3), "<h3>x</h3>"),
    (node("heading", text("x"), level="h9><script>"), "<h1>x</h1>"),
    (node("blockquote", paragraph("x")), "<blockquote><p>x</p></blockquote>"),
    (
        node("codeBlock", text("a < b\n"), language="c++"),
        '<pre><code class="language-c++">a &lt; b\n</code></pre>',
    ),
    (node("code_block", text("x"), language='"><script>'), "<pre><code>x</code></pre>"),
    (node("bulletList", node("listItem", paragraph("x"))), "<ul><li><p>x</p></li></ul>"),
    (node("bullet_list", node("list_item", paragraph("x"))), "<ul><li><p>x</p></li></ul>"),
    (
        node("orderedList", node("listItem", paragraph("x")), start=3),
        '<ol start="3"><li><p>x</p></li></ol>',
    ),
    (
        node("taskList", node("taskItem", paragraph("x"), checked=True)),
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">'
        '<label><input type="checkbox" disabled="" checked=""></label>'
        "<div><p>x</p></div></li></ul>",
    ),
    (node("horizontalRule"), "<hr>"),
    (node("paywall"), '<hr class="paywall">'),
    (node("paragraph", text("a"), node("hardBreak"), text("b")), "<p>a<br>b</p>"),
    (
        node("image", src="https://a.example/a.png?x=1&y=2", alt='"><script>', title="T"),
        '<img src="https://a.example/a.png?x=1&amp;y=2" alt="&quot;&gt;&lt;script&gt;" title="T">',
    ),
    (node("image", src="javascript:alert(1)", alt="A cat"), "A cat"),
    (node("image", src="data:image/png;base64,AAAA"), '<img src="data:image/png;base64,AAAA">'),
    (node("image", src="data:image/svg+xml;base64,AAAA"), ""),
    (
        node("figure", text("Said"), src="/a.png", alt="A", width=3, href="/a"),
        '<figure><a href="/a"><img src="/a.png" alt="A" width="3"></a>'
        "<figcaption>Said</figcaption></figure>",
    ),
    (
        node("figure", text("Said"), src="/a.png", href="javascript:alert(1)"),
        '<figure><img src="/a.png"><figcaption>Said</figcaption></figure>',
    ),
    (node("figure", text("Said"), src="javascript:alert(1)", alt="A, "), "<p>A, Said</p>"),
    (
        node("paragraph", node("figure", text("Said"), src="/a.png")),
        '<p><img src="/a.png">Said</p>',
    ),
    (
        node("table", node("tableRow", node("tableHeader", paragraph("x"), colspan=2, rowspan=1))),
        '<table><tbody><tr><th colspan="2"><p>x</p></th></tr></tbody></table>',
    ),
    (
        node("youtube", src="https://video.example/1"),
        '<figure data-card="embed" class="mh-card mh-embed"><a href="https://video.example/1">'
        "<strong>https://video.example/1</strong></a><figcaption>video.example</figcaption>"
        "</figure>",
    ),
    (node("paragraph", node("mention", id="7", label="Ann")), "<p>@Ann</p>"),
]


@pytest.mark.parametrize(("part", "expected"), NODES)
def test_each_kind_of_node_has_its_html(part: dict[str, Any], expected: str) -> None:
    assert render(doc(part)) == expected


@pytest.mark.parametrize(
    ("mark", "tag"),
    [
        ("bold", "strong"),
        ("strong", "strong"),
        ("italic", "em"),
        ("em", "em"),
        ("underline", "u"),
        ("strike", "s"),
        ("code", "code"),
        ("subscript", "sub"),
        ("superscript", "sup"),
        ("highlight", "mark"),
    ],
)
def test_each_kind_of_mark_has_its_tag(mark: str, tag: str) -> None:
    assert render(doc(node("paragraph", text("x", mark)))) == f"<p><{tag}>x</{tag}></p>"


def test_adjacent_equal_marks_are_one_element() -> None:
    content = node("paragraph", text("a", "bold"), text("b", "italic", "bold"), text("c"))
    assert render(doc(content)) == "<p><strong>a<em>b</em></strong>c</p>"


NEW_WINDOW = 'href="#x" target="_blank" rel="noopener"'


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        (
            {"href": "https://a.example/?a=1&b='\""},
            'href="https://a.example/?a=1&amp;b=&#x27;&quot;"',
        ),
        ({"href": "/posts/x#y:z", "title": "T"}, 'href="/posts/x#y:z" title="T"'),
        ({"href": "mailto:a@b.example"}, 'href="mailto:a@b.example"'),
        ({"href": "#x", "target": "_blank"}, 'href="#x" target="_blank" rel="noopener"'),
        ({"href": "#x", "rel": "nofollow"}, 'href="#x" rel="nofollow"'),
        ({"href": "#x", "rel": "opener nofollow"}, 'href="#x" rel="nofollow"'),
        ({"href": "#x", "target": "_blank", "rel": "opener"}, NEW_WINDOW),
        ({"href": "#x", "target": "x", "rel": '"><script>', "onclick": "alert(1)"}, 'href="#x"'),
    ],
)
def test_links_keep_safe_attributes(attrs: dict[str, Any], expected: str) -> None:
    assert render(doc(node("paragraph", text("x", link(**attrs))))) == f"<p><a {expected}>x</a></p>"


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " \x01java\nscript\t:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "",
        None,
        7,
    ],
)
def test_unsafe_links_become_text(href: object) -> None:
    assert render(doc(node("paragraph", text("x", link(href=href))))) == "<p>x</p>"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (node("admonition", text("words")), "<p>words</p>"),
        (node("details", paragraph("a"), node("x", paragraph("b"))), "<p>a</p><p>b</p>"),
        (node("paragraph", node("footnote", text("words"))), "<p>words</p>"),
        (node("paragraph", text("x", "sparkle", "bold")), "<p><strong>x</strong></p>"),
        (node("paragraph", node("bulletList", node("listItem", text("x")))), "<p>x</p>"),
        (node("horizontalRule", paragraph("x")), "<hr><p>x</p>"),
        (node("widget"), ""),
    ],
)
def test_unknown_nodes_keep_their_text(part: dict[str, Any], expected: str) -> None:
    assert render(doc(part)) == expected


@pytest.mark.parametrize(
    "value",
    [None, 1, "text", [], {}, {"type": "Doc"}, {"ops": []}, {"type": "doc", "content": "x"}],
)
def test_other_json_is_not_rendered(value: object) -> None:
    assert render(value) is None


def test_an_empty_document_is_empty_html() -> None:
    assert render({"type": "doc"}) == ""


KINDS = {part["type"] for part, _ in NODES} | {"text", "link", "bold", "doc", "tableCell"}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "attrs", "content", "marks", "text", "href", "src", "level"]),
            inner | st.sampled_from(sorted(KINDS)),
        )
    ),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=4))
def test_no_document_makes_it_fail_or_leaks_a_tag(content: list[Any]) -> None:
    rendered: str | None = ""
    # A card may be wrong.
    with suppress(Invalid):
        rendered = render({"type": "doc", "content": content})
    assert rendered is not None
    assert "<script" not in rendered


def nested(levels: int) -> dict[str, Any]:
    part = node("paragraph")
    for _ in range(levels):
        part = node("blockquote", part)
    return doc(part)


def test_documents_are_bounded_in_depth() -> None:
    assert "<p></p>" in str(render(nested(MAX_DEPTH - 2)))
    with pytest.raises(Invalid) as refused:
        render(nested(MAX_DEPTH - 1))
    assert "nested deeper" in refused.value.problems["content_json"].message


def test_documents_are_bounded_in_parts() -> None:
    assert render(doc(*[node("horizontalRule")] * MAX_NODES)) == "<hr>" * MAX_NODES
    with pytest.raises(Invalid):
        render(doc(*[node("horizontalRule")] * (MAX_NODES + 1)))


def test_documents_are_bounded_in_html() -> None:
    with pytest.raises(Invalid):
        render(doc(paragraph("&" * (MAX_HTML // 5))))


HELLO = doc(paragraph("Hello"))


@pytest.mark.parametrize("collection", ["posts", "pages"])
class TestSaving:
    async def test_a_document_sent_alone_is_rendered(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": HELLO})
        assert record["content_html"] == "<p>Hello</p>"

    async def test_html_sent_with_it_is_stored_as_sent(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        both = {"title": "T", "content_json": HELLO, "content_html": "<b>Mine"}
        record = await tenant.create(collection, both)
        assert (record["content_html"], record["content_json"]) == ("<b>Mine", HELLO)

    async def test_other_json_is_kept_without_html(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": {"ops": [1]}})
        assert (record["content_html"], record["content_json"]) == ("", {"ops": [1]})

    async def test_a_new_document_is_rendered_anew(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": HELLO})
        changed = doc(paragraph("Bye"))
        record = await tenant.update(collection, record["id"], {"content_json": changed})
        assert record["content_html"] == "<p>Bye</p>"

    async def test_the_same_document_again_changes_nothing(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        both = {"title": "T", "content_json": HELLO, "content_html": "<b>Mine"}
        record = await tenant.create(collection, both)
        update = {"content_json": HELLO, "title": "New"}
        record = await tenant.update(collection, record["id"], update)
        assert record["content_html"] == "<b>Mine"

    async def test_html_sent_alone_leaves_the_document(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": HELLO})
        record = await tenant.update(collection, record["id"], {"content_html": "<p>New"})
        assert (record["content_html"], record["content_json"]) == ("<p>New", HELLO)

    @pytest.mark.parametrize("nothing", [{"ops": [1]}, {"type": "doc"}, "text", 5, []])
    async def test_a_document_that_renders_to_nothing_leaves_the_html(
        self, tenant: TenantWorld, collection: str, nothing: Any
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_html": "<p>Mine"})
        record = await tenant.update(collection, record["id"], {"content_json": nothing})
        assert (record["content_html"], record["content_json"]) == ("<p>Mine", nothing)
        assert record["content_source"] == "json"

    async def test_content_source_names_the_newer_text(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T"})
        newer = [record["content_source"]]
        for change in (
            {"content_json": HELLO},
            {"title": "New"},
            {"content_html": "<p>New"},
            {"content_html": "<p>Newer", "content_json": HELLO},
            {"content_json": doc(paragraph("Bye"))},
            {"content_html": "<p>Both", "content_json": HELLO},
            {"content_json": None},
        ):
            record = await tenant.update(collection, record["id"], change)
            newer.append(record["content_source"])
        assert newer == ["html", "json", "json", "html", "html", "json", "json", "html"]

    async def test_content_source_is_readable_by_the_owner_and_set_by_the_engine(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        values = {"title": "T", "content_json": HELLO, "status": "published"}
        record = await tenant.create(collection, values)
        owner, path = await tenant.owner(), records_of(collection, record["id"])
        answer = await owner.api.patch(path, json={"content_source": "html"})
        assert answer.json()["content_source"] == "json"
        assert "content_source" not in (await tenant.guest.get(path)).json()

    async def test_removing_the_document_keeps_the_html(
        self, tenant: TenantWorld, collection: str
    ) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": HELLO})
        record = await tenant.update(collection, record["id"], {"content_json": None})
        assert (record["content_html"], record["content_json"]) == ("<p>Hello</p>", None)

    async def test_other_changes_leave_both(self, tenant: TenantWorld, collection: str) -> None:
        record = await tenant.create(collection, {"title": "T", "content_json": HELLO})
        record = await tenant.update(collection, record["id"], {"title": "New"})
        assert (record["content_html"], record["content_json"]) == ("<p>Hello</p>", HELLO)
