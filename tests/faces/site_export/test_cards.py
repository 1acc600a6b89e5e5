"""Cards through the formats of other platforms and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from tests.content.cards.every_card import document
from tests.content.cards.random_cards import DOCUMENTS
from tests.tiers import rounds

from masthead.content.cards.exports import for_ghost, for_wordpress
from masthead.content.texts.editor import render
from masthead.faces.importers.convert.content import prepare
from masthead.faces.importers.platforms.ghost.bodies import body_of
from masthead.faces.importers.platforms.wordpress.attachments import Attachments
from masthead.faces.importers.platforms.wordpress.body import to_html
from masthead.faces.importers.source import SourcePost

_BOLD = [{"type": "bold"}]


def through_ghost(html: str) -> str | None:
    return imported(body_of({"html": for_ghost(html)})[0])


def through_wordpress(html: str) -> str | None:
    return imported(to_html(for_wordpress(html), Attachments(), 1)[0])


def imported(html: str) -> str | None:
    prepared = prepare(SourcePost("1", "post", "Title", html=html), "")
    # Not even white space differs from what is made of the document.
    assert render(prepared.content_json) == prepared.html
    return prepared.html


def test_every_card_is_written_in_the_form_of_the_platform() -> None:
    html = render(document()) or ""
    ghost, wordpress = for_ghost(html), for_wordpress(html)
    for name in ("bookmark", "callout", "toggle", "button", "gallery", "audio", "video", "file"):
        assert f'"kg-card kg-{name}-card' in ghost
    for part in ("kg-embed-card", "kg-signup-card", "<!--kg-card-begin: html-->"):
        assert part in ghost
    for name in ("embed", "gallery", "image", "button", "details", "audio", "video", "file"):
        assert f"<!-- wp:{name} " in wordpress
    assert "data-card" not in ghost
    assert through_ghost(html) == html
    assert through_wordpress(html) == html


@pytest.mark.parametrize("width", [None, "wide", "full"])
@pytest.mark.parametrize("crop", [None, "16:9", "1:1"])
def test_the_width_and_the_crop_of_a_picture_come_back(width: str | None, crop: str | None) -> None:
    words = {"type": "paragraph", "content": [{"type": "text", "text": "Words"}]}
    shape = {"src": "/a.jpg", "alt": "A", "width": 90, "height": 60, "layout": width, "crop": crop}
    caption = [{"type": "text", "text": "The "}, {"type": "text", "text": "sea", "marks": _BOLD}]
    figures = [
        {"type": "figure", "attrs": shape, "content": caption},
        {"type": "figure", "attrs": {**shape, "href": "/b"}},
    ]
    html = render({"type": "doc", "content": [words, figures[0], words, figures[1]]}) or ""
    assert through_ghost(html) == html
    assert through_wordpress(html) == html
    if width:
        assert f'class="kg-card kg-image-card kg-width-{width}"' in for_ghost(html)
        assert f'"align":"{width}"' in for_wordpress(html)
        assert f"wp-block-image align{width}" in for_wordpress(html)
    if crop:
        assert f"aspect-ratio:{crop.replace(':', '/')};object-fit:cover" in for_wordpress(html)


@settings(max_examples=rounds(40, 300), deadline=None)
@given(DOCUMENTS)
def test_any_document_of_cards_comes_back(given_document: dict[str, Any]) -> None:
    html = render(given_document) or ""
    assert through_ghost(html) == html
    assert through_wordpress(html) == html
