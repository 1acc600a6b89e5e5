"""HTML in the editor: at once where nothing is lost, otherwise with what a conversion changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.content.texts.test_from_html import _BLOCKS, check_opens
from tests.tiers import rounds

from masthead.content.html.clean_texts import cleaned_text
from masthead.content.html.markup import cleaned
from masthead.content.texts.editor import render
from masthead.content.texts.html_opening import HtmlOpening, open_html, opening_of
from masthead.content.texts.same_text import is_same_text
from masthead.engine.records.read.plain_text import plain_text
from masthead.features.posts.site import before_paywall


def opened(html: str) -> HtmlOpening:
    return opening_of(cleaned_text(html))


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>Plain</p>\n<p>One <b>bold</b> <del>x</del></p>",
        "bare <i>text</i><p>and a paragraph</p>",
        "<h2>a</h2><ul><li>a</li><li>b<ol start=3><li>c</li></ol></li></ul><ol><li></li></ol>",
        "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td></td></tr></tbody></table>",
        "<pre>a\n  b</pre><pre><code class='language-c'>x<br>y</code></pre><hr>",
        "<figure><img src=/a.jpg alt=x width=3><figcaption>c <i>d</i></figcaption></figure>",
        "<p>Free</p><!--more--><p>Paid</p>",
        "<p><a href='https://a.example' target=_blank>x</a></p><blockquote>q</blockquote>",
        '<a class="mh-button" data-card="button" href="https://a.example">Buy</a>',
    ],
)
def test_html_of_which_nothing_would_be_lost_opens(html: str) -> None:
    found = opened(html)
    assert found.is_same, found
    assert found.changes == ()


@pytest.mark.parametrize(
    ("html", "changes", "words"),
    [
        ("<h2 id=tides>Tides</h2>", ("Without id on <h2>",), "<h2>Tides</h2>"),
        (
            "<p><abbr title=x>NTP</abbr> and <abbr>UTC</abbr></p>",
            ("Without <abbr> (2 times)", "Without title on <abbr>"),
            "<p>NTP and UTC</p>",
        ),
        (
            "<section><p lang=de>Guten Tag</p><ul><li>a</li></ul></section>",
            ("Without lang on <p>", "Without <section>"),
            "<p>Guten Tag</p><ul><li><p>a</p></li></ul>",
        ),
        (
            "<p>Before</p><dl><dt>Fog</dt><dd>Cloud</dd></dl>",
            ("An HTML card instead of <dl><dt>Fog</dt><dd>Cloud</dd></dl>",),
            '<p>Before</p><div data-card="html" class="mh-card mh-html" data-html="',
        ),
        (
            "<details open><summary>How <b>so</b>?</summary>Like <i>this</i></details>",
            ('A toggle instead of <details open="">', "Without <strong>"),
            "<summary>How so?</summary><p>Like <em>this</em></p></details>",
        ),
        (
            "<p><video src=/a.mp4 poster=/p.jpg controls width=9></video></p>",
            (
                'A video card instead of <p><video src="/a.mp4" poster="/p.jpg" controls="" '
                'width="9"></video></p>',
            ),
            '<video src="/a.mp4" poster="/p.jpg" controls="" playsinline="">',
        ),
        (
            "<img src=/a.jpg srcset='/b.jpg 2x'>",
            ("Without srcset on <img>",),
            '<p><img src="/a.jpg"></p>',
        ),
    ],
)
def test_what_a_conversion_changes_is_said(html: str, changes: tuple[str, ...], words: str) -> None:
    found = opened(html)
    assert not found.is_same
    assert sorted(found.changes) == sorted(changes)
    assert words in found.html
    assert found.document


async def test_what_can_not_be_converted_says_why() -> None:
    inside = "<p>Free</p><blockquote><p>One</p><hr class=paywall><dl><dt>x</dl></blockquote>"
    assert "inside another part" in opened(inside).reason
    long = f"<dl><dt>{'x' * 100_001}</dt></dl>"
    assert opened(long).reason == "<dl> is too long for an HTML card"
    assert "1,000,000 characters" in (await open_html("x" * 1_000_001)).reason
    assert "too long to read" in (await open_html("<b>" * 300_000)).reason
    assert (await open_html("<p>word</p>" * 2_000)).is_same


_PARTS = st.one_of(
    _BLOCKS,
    st.sampled_from(
        [
            "<dl><dt>a<dd>b</dl>",
            "<p lang=de>c</p>",
            "<section><p>d</p><dl><dt>e</dl></section>",
            "<video src=/a.mp4></video>",
            "<hr class=paywall>",
            "<details><summary>f</summary><p>g</p></details>",
        ]
    ),
)


@settings(max_examples=rounds(60, 1_000), deadline=None)
@given(st.lists(_PARTS, max_size=4).map("".join))
def test_no_conversion_loses_a_word_or_shows_more_to_guests(html: str) -> None:
    shown = cleaned_text(html)
    found = opening_of(shown)
    if found.document is None:
        assert found.reason
        return
    rendered = cleaned_text(render(found.document) or "")
    assert is_same_text(cleaned(rendered)[1], cleaned(found.html)[1])
    if "data-html" not in rendered and "data-html" not in shown:
        if found.is_same and found.document["content"]:
            check_opens(found.document)
        assert words(rendered) == words(shown)
    assert len(words(before_paywall(rendered))) <= len(words(before_paywall(shown)))


def words(html: str) -> str:
    return "".join(plain_text(html, 100_000).split())
