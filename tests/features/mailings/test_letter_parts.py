"""How the parts of a text are mailed, in HTML and as plain text."""

from __future__ import annotations

import pytest
from tests.content.cards.every_card import YOUTUBE, document

from masthead.content.html.markup import restricted
from masthead.content.html.sanitizer import sanitized
from masthead.content.texts.editor import render
from masthead.features.mailings.letter_html import Addresses, HtmlWriter, MailedPicture
from masthead.features.mailings.letter_text import TextWriter

ADDRESSES = Addresses("https://coast.example", "https://coast.example/posts/fog")
PHOTO = MailedPicture("/media/abcdefghijklmno/fog.jpg?thumb=1200x0", "Fog", 2400, 1200)


def as_html(text: str, addresses: Addresses = ADDRESSES) -> str:
    pictures = {"/media/abcdefghijklmno/fog.jpg": PHOTO}
    return HtmlWriter(restricted(sanitized(text))[1], pictures, addresses).run()


def as_text(text: str) -> str:
    return TextWriter(restricted(sanitized(text))[1], ADDRESSES).run()


@pytest.mark.parametrize(
    ("address", "whole"),
    [
        ("/tags/fog", "https://coast.example/tags/fog"),
        ("next", "https://coast.example/posts/next"),
        ("?page=2", "https://coast.example/posts/fog?page=2"),
        ("//other.example/x", "https://other.example/x"),
        ("#fn-1", "https://coast.example/posts/fog#fn-1"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("https://other.example/?a=1&b=2", "https://other.example/?a=1&amp;b=2"),
    ],
)
def test_addresses_are_whole(address: str, whole: str) -> None:
    assert f'<a href="{whole}">x</a>' in as_html(f'<a href="{address}">x</a>')


def test_a_note_of_a_post_without_a_page_is_no_link() -> None:
    html = as_html('<p>x<sup><a href="#fn-1">1</a></sup></p>', Addresses("https://coast.example"))
    assert html == "<p>x<sup><span>1</span></sup></p>"


def test_an_address_that_nobody_can_read_is_no_link() -> None:
    assert as_html('<a href="http://[::1">x</a>') == "<span>x</span>"


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ("", 'width="536" height="268"'),
        (' width="200"', 'width="200" height="100"'),
        (' height="100"', 'width="200" height="100"'),
        (' width="2000" height="1000"', 'width="536" height="268"'),
    ],
)
def test_pictures_have_their_size_and_text(given: str, sizes: str) -> None:
    html = as_html(f'<img src="/media/abcdefghijklmno/fog.jpg"{given}>')
    source = "https://coast.example/media/abcdefghijklmno/fog.jpg?thumb=1200x0"
    assert html == f'<img src="{source}" alt="Fog" {sizes}>'


def test_a_picture_of_unknown_size_has_a_width_for_outlook() -> None:
    html = as_html('<img src="https://pics.example/a.png">')
    assert html == '<img src="https://pics.example/a.png" alt="" width="536" class="unsized">'


def test_a_picture_within_the_text_is_its_description() -> None:
    assert as_html('<img src="data:image/png;base64,AA" alt="A dot">') == "<em>A dot</em>"


def test_players_and_frames_are_boxes_with_a_link() -> None:
    html = as_html('<video><source src="/film.mp4">No video</video><p>After</p>')
    assert 'href="https://coast.example/film.mp4"' in html
    assert "No video" not in html
    assert "<p>After</p>" in html
    address = "https://www.youtube.com/watch?v=x"
    html = as_html(f'<p><a href="{address}">{address}</a></p>')
    assert "<b>Video on YouTube</b>" in html


def test_lists_quotations_and_code_as_text() -> None:
    html = (
        "<h2>Head</h2><ul><li>One</li><li><p>Two</p><ol start='3'><li>Three</li></ol></li></ul>"
        "<blockquote><p>Said</p></blockquote><pre><code>a = 1\n  b</code></pre><hr>"
        "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    assert as_text(html) == (
        "Head\n\n- One\n- Two\n  3. Three\n\n> Said\n\na = 1\n  b\n\n* * *\n\nA | B\n1 | 2"
    )


def test_names_are_set_apart_from_the_words_around_them() -> None:
    text = '<p><bdi>أحمد</bdi> 3, <bdi dir="ltr">Ada</bdi></p>'
    apart = '<p><span dir="auto">أحمد</span> 3, <span dir="ltr">Ada</span></p>'
    assert as_html(text) == apart


def test_links_as_text() -> None:
    assert as_text('<p>See <a href="/x">this</a>.</p>') == "See this <https://coast.example/x>."
    address = "https://a.example/"
    assert as_text(f'<p>At <a href="{address}">{address}</a></p>') == f"At {address}"
    assert as_text('<p>x<sup><a href="#fn-1">1</a></sup></p>') == "x[1]"
    assert as_text('<ol><li>Note <a href="#fnref-1">↩</a></li></ol>') == "1. Note"


def test_long_lines_are_wrapped() -> None:
    lines = as_text(f"<p>{'word ' * 100}</p>").splitlines()
    assert max(map(len, lines)) <= 72


def test_every_card_is_mailed() -> None:
    text = render(document("/media/abcdefghijklmno/fog.jpg")) or ""
    html = as_html(text)
    page = "https://coast.example/posts/fog"
    for part in (
        '<a href="https://elsewhere.example/fog?a=1&amp;b=2" class="boxlink"><img src="https://coast',
        "What a horn says · elsewhere.example",
        '<div class="mh-card mh-callout"><p>💡</p><p>Mind the tide.</p>',
        '<p class="summary">How does it work?</p><p>It opens.</p>',
        '<p class="mh-card mh-button"><a href="https://elsewhere.example/buy">Buy the book</a></p>',
        'alt="Four" width="262"',
        '<a href="https://files.example/horn.mp3" class="boxlink"><b>Play the sound</b>',
        '<a href="https://files.example/tides.pdf" class="boxlink"><b>Tides</b><br>',
        f'<p>Vote here</p><table class="box" role="presentation" width="100%" cellpadding="0" '
        f'cellspacing="0"><tr><td class="boxed"><a href="{page}"',
        "<b>A film</b><br>",
    ):
        assert part in html
    for part in ("Join the coast", "<script", "<iframe", "data-", "<figure"):
        assert part not in html
    plain = " ".join(as_text(text).split())
    for part in (
        '[Fog & "mist" (What a horn says · elsewhere.example): https://elsewhere.example/fog?a=1&b=2]',
        "[Picture: Two]",
        "[Play the video (The sea): https://files.example/sea.mp4]",
        "[Tides (123 KB): https://files.example/tides.pdf]",
        f"Vote here [See this part on the site: {page}]",
        f"[A film (YouTube): {YOUTUBE}]",
    ):
        assert part in plain
