"""Markdown as the editor's document and as HTML: CommonMark, tables, task lists and footnotes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.tiers import representatives

from masthead.base.errors import Invalid
from masthead.content.texts.content import convert_markdown
from masthead.content.texts.editor import render
from masthead.content.texts.editor_document import opened_document
from masthead.content.texts.markdown import convert

TASKS = (
    '<ul data-type="taskList"><li data-type="taskItem" data-checked="{0}"><label>'
    '<input type="checkbox" disabled=""{1}></label><div><p>{2}</p></div></li></ul>'
)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("", ""),
        ("Hello *big* **world**", "<p>Hello <em>big</em> <strong>world</strong></p>"),
        ("***both***", "<p><strong><em>both</em></strong></p>"),
        ("~~gone~~", "<p><s>gone</s></p>"),
        ("## Two", "<h2>Two</h2>"),
        ("a\nb  \nc", "<p>a b<br>c</p>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        ('[x](https://a.example "t")', '<p><a href="https://a.example" title="t">x</a></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("![a](/a.png)", '<p><img src="/a.png" alt="a"></p>'),
        ("`a*b`", "<p><code>a*b</code></p>"),
        ("```py\nx = 1\n```", '<pre><code class="language-py">x = 1</code></pre>'),
        ("> q", "<blockquote><p>q</p></blockquote>"),
        ("---", "<hr>"),
        ("3. a\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'),
        ("- a\n  - b", "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li></ul>"),
        ("- [x] a", TASKS.format("true", ' checked=""', "a")),
        ("- [ ] a\n- b", TASKS.format("false", "", "a") + "<ul><li><p>b</p></li></ul>"),
        (
            "| a | b |\n|---|--:|\n| 1 | 2 |",
            '<table><tbody><tr><th><p>a</p></th><th><p style="text-align: right">b</p></th></tr>'
            '<tr><td><p>1</p></td><td><p style="text-align: right">2</p></td></tr></tbody></table>',
        ),
        ("a<br>b <!-- c -->", "<p>a<br>b </p>"),
        ('a\n\n<hr class="paywall">\n\nb', '<p>a</p><hr class="paywall"><p>b</p>'),
    ],
)
def test_both_forms_say_the_same(markdown: str, html: str) -> None:
    converted = convert(markdown)
    assert converted.content_html == html
    assert render(converted.content_json) == html
    opening = opened_document(converted.content_json)
    assert opening is not None
    assert opening.lacks == set()


def test_a_footnote_is_linked_with_its_references() -> None:
    html = convert("One[^n], two[^n].\n\n[^n]: The *note*\n    goes on.\n\nEnd.").content_html
    assert html == (
        '<p>One<a id="fnref-1" href="#fn-1"><sup>1</sup></a>, '
        'two<a id="fnref-1-2" href="#fn-1"><sup>1</sup></a>.</p><p>End.</p><hr>'
        '<ol><li id="fn-1"><p>The <em>note</em> goes on. <a href="#fnref-1">↩</a></p></li></ol>'
    )


def test_footnotes_are_numbered_by_their_references_and_none_is_lost() -> None:
    text = "A[^b] B[^a]\n\n[^a]: first, see[^c]\n[^unused]: alone\n[^b]: second\n[^c]: third"
    html = convert(text).content_html
    found = [html.index(word) for word in ("second", "first", "third", "alone")]
    assert found == sorted(found)
    assert "[^" not in html


def test_what_looks_like_a_footnote_in_code_or_without_a_note_stays() -> None:
    html = convert("`[^a]` and [^nothing]\n\n```\n[^a]: code\n```\n\n[^a]: x").content_html
    assert "<code>[^a]</code> and [^nothing]" in html
    assert "[^a]: code" in html


def test_html_that_the_editor_lacks_is_kept_as_html_only() -> None:
    converted = convert(
        "a <kbd>x</kbd> *b*\n\n<details>\n<summary>s</summary>\n</details>\n\n- [ ] t"
    )
    assert converted.content_json is None
    assert converted.content_html.startswith(
        "<p>a <kbd>x</kbd> <em>b</em></p><details>\n<summary>s</summary>\n</details>"
    )
    assert 'data-type="taskItem"' in converted.content_html


@pytest.mark.parametrize(
    "markdown",
    [
        ">" * 300 + "a",
        "- " * 300 + "a",
        "a *b* " * 12_000,
        "[a]: /" + "x" * 9_000 + "\n\n" + "[a]" * 999,
    ],
    ids=["quotes", "lists", "parts", "addresses"],
)
def test_what_is_too_large_is_refused_with_the_reason(markdown: str) -> None:
    with pytest.raises(Invalid) as refusal:
        convert(markdown)
    assert refusal.value.problems.keys() == {"content_markdown"}


def _lines(line: str) -> Callable[[int], str]:
    return lambda length: line * (length // len(line))


HOSTILE: dict[str, Callable[[int], str]] = {
    **{
        text: _lines(text) for text in ("[", "![", "[a](", "*a _b ", "a**b", "<", "&", "\\", "~~a ")
    },
    **{
        text: _lines(text)
        for text in ("> a\n", "a\n", "```\n", "[^a]: b\n", "[^a]", "a|b\n-|-\n\n")
    },
    "comments": lambda length: "<!--" * (length // 4),
    "ticks": lambda length: "".join("`" * each + " " for each in range(int((2 * length) ** 0.5))),
    "notes": lambda length: "".join(f"[^{n}]: [^{n + 1}]\n" for n in range(length // 14)) + "[^0]",
    "references": lambda length: "[a]: /" + "x" * (length // 2) + "\n\n" + "[a] " * (length // 8),
}


@pytest.mark.parametrize("name", representatives(HOSTILE, 4))
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    def seconds(length: int) -> float:
        text = HOSTILE[name](length)
        took = []
        for _ in range(2):
            start = time.thread_time()
            _refused_or_converted(text)
            took.append(time.thread_time() - start)
        return min(took)

    _refused_or_converted("warm")
    # A thousandth of a second, below which a measurement is noise.
    assert seconds(3_000) < 4 * max(seconds(1_500), 0.001)


def _refused_or_converted(text: str) -> Any:
    try:
        return convert(text)
    except Invalid:
        return None


async def test_a_text_that_takes_the_parser_too_long_is_refused() -> None:
    with pytest.raises(Invalid) as refusal:
        await convert_markdown("![" * 100_000)
    assert "too long" in refusal.value.problems["content_markdown"].message


@pytest.mark.parametrize("name", representatives(HOSTILE, 4))
async def test_the_event_loop_converts_only_what_is_quick(name: str) -> None:
    text = HOSTILE[name](1_000)
    await convert_markdown("warm")
    start = time.thread_time()
    with suppress(Invalid):
        await convert_markdown(text)
    assert time.thread_time() - start < 0.05


async def test_both_ways_convert_alike() -> None:
    text = "# A *title*\n\n- [x] done\n- [ ] open[^1]\n\n[^1]: A note.\n"
    apart = await convert_markdown(text + "\nword" * 300, keeps_lines=True)
    assert apart == convert(text + "\nword" * 300, keeps_lines=True)
    assert await convert_markdown(text) == convert(text)
