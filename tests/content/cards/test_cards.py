"""Cards: from the editor's document to HTML and back, and what is no card."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from tests.content.cards.random_cards import DOCUMENTS
from tests.tiers import rounds

from masthead.base.errors import Invalid
from masthead.content.cards.catalog import element_at
from masthead.content.html.clean_texts import cleaned_text
from masthead.content.html.markup import cleaned, tokens_of
from masthead.content.texts.editor import render
from masthead.content.texts.from_html import to_document


def doc(name: str, **attributes: Any) -> dict[str, Any]:
    return {"type": "doc", "content": [{"type": name, "attrs": attributes}]}


@settings(max_examples=rounds(60, 300), deadline=None)
@given(DOCUMENTS)
def test_a_document_of_cards_comes_back_from_its_html(document: dict[str, Any]) -> None:
    html = render(document)
    assert html is not None
    assert cleaned_text(html) == html
    found, reason = to_document(cleaned(html)[1])
    assert found == document, reason


YOUTUBE = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        (doc("bookmark", title="No address"), "url is missing"),
        (doc("bookmark", url="javascript:alert(1)"), "url must be an address"),
        (doc("bookmark", url="https://a.example", title=7), "title must be text"),
        (doc("callout", emoji="x" * 21), "emoji may have 20 characters"),
        (doc("toggle", summary=["x"]), "summary must be text"),
        (doc("button", url="https://a.example"), "label is missing"),
        (doc("gallery", images=[]), "images must be a list"),
        (doc("gallery", images=[{"src": "/a.png"}] * 13), "at most 12 pictures"),
        (doc("gallery", images=[{"src": "data:image/png;base64,AA"}]), "src must be the address"),
        (doc("gallery", images=[{"src": "/a.png", "width": "x"}]), "width must be a whole number"),
        (doc("audio"), "src is missing"),
        (doc("video", src="/a.mp4", poster="blob:x"), "poster must be the address"),
        (doc("file", src="/a.pdf", size=-1), "size must be a whole number"),
        (doc("html", html=7), "html must be text"),
        (doc("html", html="x" * 100_001), "html may have 100,000 characters"),
        (doc("join", label={}), "label must be text"),
        (doc("embed", url="javascript:alert(1)"), "url must be an address"),
    ],
)
def test_a_wrong_card_is_refused_with_the_reason(card: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        render(card)
    assert problem in refused.value.problems["content_json"].message


def test_unknown_attributes_are_dropped() -> None:
    html = render(doc("button", url="/a", label="Go", onclick="alert(1)", style="color: red"))
    assert html == '<p data-card="button" class="mh-card mh-button"><a href="/a">Go</a></p>'


@pytest.mark.parametrize(
    "html",
    [
        # A second link, which the card has no place for.
        '<p data-card="button"><a href="/a">A</a><a href="/b">B</a></p>',
        '<p data-card="unknown">words</p>',
        '<div data-card="bookmark"><a href="/a"><strong>A</strong></a></div>',
        '<figure data-card="gallery"></figure>',
        '<figure data-card="audio"><p>words</p></figure>',
    ],
)
def test_an_element_with_more_than_its_card_is_none(html: str) -> None:
    tokens = cleaned(html)[1]
    assert not any(element_at(tokens, at) for at in range(len(tokens)))
    assert to_document(tokens)[0] is None


def test_the_sanitizer_gives_cards_their_classes_and_leaves_nothing_else() -> None:
    html = (
        '<aside data-card="callout" class="mine" onclick="x()" style="color:red">'
        '<p class="mh-emoji other">!</p><p class="mh-card">x</p></aside>'
        '<figure data-card="x y" data-width="huge" data-crop="1:1"><img src="/a.png"></figure>'
        '<section data-card="html" data-html="<b>">x</section>'
        '<div data-html="<b>">y</div>'
    )
    assert cleaned_text(html) == (
        '<aside data-card="callout" class="mh-card mh-callout">'
        '<p class="mh-emoji">!</p><p>x</p></aside>'
        '<figure data-crop="1:1"><img src="/a.png"></figure>'
        "<section>x</section><div>y</div>"
    )


def test_the_words_of_an_html_card_are_readable_and_its_script_is_not_in_the_page() -> None:
    source = "<style>b{}</style><script>alert(1)</script><b>Vote</b> <i>now &amp; here</i>"
    html = render(doc("html", html=source)) or ""
    assert "<p>Vote now &amp; here</p></div>" in html
    assert "<script" not in html
    [found] = [element_at(tokens_of(html), 0)]
    assert found is not None
    assert found.values == {"html": source}


def test_nested_cards_take_time_in_proportion_to_their_length() -> None:
    """Looking for the end of a card that never comes stops soon."""
    html = '<figure data-card="bookmark">' * 200 + "<b>x</b>" * 2_000 + "</figure>" * 200
    tokens = tokens_of(html)
    assert not any(element_at(tokens, at) for at in range(len(tokens)))
