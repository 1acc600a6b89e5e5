"""Clean HTML is written as Markdown, which says the same when it is read again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import rounds

from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import cleaned, tokens_of
from masthead.content.texts.as_markdown import markdown_of
from masthead.content.texts.editor import render
from masthead.content.texts.markdown import convert


def written(html: str) -> str:
    return markdown_of(tokens_of(html), lambda address: address)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("", ""),
        ("<h2>A <em>b</em></h2><p>c</p>", "## A *b*\n\nc\n"),
        ("<p>1. no list</p>", "1\\. no list\n"),
        ("<p># no heading</p>", "\\# no heading\n"),
        ("<p>a<br>- b</p>", "a  \n\\- b\n"),
        ("<p>so <strong>much </strong>more</p>", "so **much** more\n"),
        ("<p>use <code>a`b</code></p>", "use ``a`b``\n"),
        ('<pre><code class="language-py">x = 1\n</code></pre>', "```py\nx = 1\n```\n"),
        ("<ul><li><p>a</p><ul><li>b</li></ul></li></ul>", "- a\n  - b\n"),
        ('<ol start="9"><li>a</li><li>b</li></ol>', "9. a\n10. b\n"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b\n"),
        ('<p><a href="/x (1)">y</a></p>', "[y](</x (1)>)\n"),
        ('<figure><img src="/a.png" alt="A [b]"></figure>', "![A \\[b\\]](/a.png)\n"),
        ('<p>a</p><hr class="paywall"><p>b</p>', "a\n\nb\n"),
        ('<video src="/v.mp4" controls=""></video>', "[Video](/v.mp4)\n"),
        (
            "<table><tbody><tr><th>a</th><th>b</th></tr><tr><td>1|2</td></tr></tbody></table>",
            "| a | b |\n| --- | --- |\n| 1\\|2 |  |\n",
        ),
        (
            '<ul data-type="taskList"><li data-type="taskItem">'
            '<input type="checkbox" checked=""><p>done</p></li></ul>',
            "- [x] done\n",
        ),
    ],
)
def test_each_element_has_its_mark(html: str, markdown: str) -> None:
    assert written(html) == markdown


def test_open_elements_end_with_the_text() -> None:
    assert written("<blockquote><p>a") == "> a\n"


def test_a_long_text_takes_one_pass() -> None:
    assert written("<p>a</p>" * 20_000).count("a\n") == 20_000


_text = st.text("ab *_`#<>[]()|~\\&;!1.-+=", min_size=1, max_size=12).map(str.strip).filter(bool)
_marks = st.lists(st.sampled_from(["bold", "italic", "strike"]), max_size=1)
_inline = st.builds(
    lambda text, marks: {"type": "text", "text": text, "marks": [{"type": m} for m in marks]},
    _text,
    _marks,
)
_paragraph = st.builds(lambda run: {"type": "paragraph", "content": [run]}, _inline)
_heading = st.builds(
    lambda run, level: {"type": "heading", "attrs": {"level": level}, "content": [run]},
    _inline,
    st.integers(2, 4),
)
_paragraphs = st.lists(_paragraph, min_size=1, max_size=3)
_list = st.builds(
    lambda kind, items: {
        "type": kind,
        "content": [{"type": "listItem", "content": [first]} for first in items],
    },
    st.sampled_from(["bulletList", "orderedList"]),
    _paragraphs,
)
_quote = st.builds(lambda inner: {"type": "blockquote", "content": inner}, _paragraphs)
_block = _paragraph | _heading | st.just({"type": "horizontalRule"}) | _list | _quote


@settings(max_examples=rounds(60, 1_000), deadline=None)
@given(st.lists(_block, min_size=1, max_size=4))
def test_what_was_written_reads_as_the_same_text(blocks: list[dict[str, object]]) -> None:
    html, tokens = cleaned(render({"type": "doc", "content": blocks}))
    markdown = markdown_of(tokens, lambda address: address)
    again, _ = cleaned(convert(markdown).content_html)
    assert words_of(again) == words_of(html), markdown


def words_of(html: str) -> list[str]:
    """Every text with the names of the blocks around it."""
    found: list[str] = []
    for token in tokens_of(html):
        if token.kind == "text":
            found.append(" ".join(token.name.split()))
        elif token.name in ("h2", "h3", "h4", "li", "blockquote", "hr"):
            found.append(f"{token.kind} {token.name}")
    return [each for each in found if each]


@given(st.text("ab *_`#<>[]()|~\\&;!1.-+=:/@\n", max_size=30))
def test_escaped_text_has_no_marks(text: str) -> None:
    line = " ".join(text.split())
    html = convert(f"x {escaped_text(line)}").content_html
    assert [each.name for each in tokens_of(cleaned(html)[0]) if each.kind == "start"] == ["p"]
