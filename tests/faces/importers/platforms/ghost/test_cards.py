"""A card says the same whether it is rendered from its data or was drawn by Ghost already."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.faces.importers.platforms.ghost.bodies import body_of
from masthead.faces.importers.platforms.ghost.card_html import simplified
from masthead.faces.importers.platforms.ghost.cards import render_card
from masthead.faces.importers.platforms.ghost.markdown import MAX_LENGTH, render_markdown
from masthead.faces.importers.source import PAYWALL

SPAN = '<span style="white-space: pre-wrap;">Words</span>'
HEADER = {"header": SPAN, "subheader": "Sub", "buttonText": "Go", "buttonUrl": "/go"}
PRODUCT = {
    "productImageSrc": "/p.png",
    "productTitle": SPAN,
    "productDescription": "<p>About</p>",
    "productRatingEnabled": True,
    "productStarRating": 4,
    "productButtonEnabled": True,
    "productButton": "Buy",
    "productUrl": "/buy",
}
PRODUCT_HTML = (
    '<p><img src="/p.png" alt=""></p><h4>Words</h4><p>★★★★☆</p><p>About</p>'
    '<p><a href="/buy">Buy</a></p>'
)

BOOKMARK = '<figure data-card="bookmark" class="mh-card mh-bookmark">'
EMBED = '<figure data-card="embed" class="mh-card mh-embed">'
BUTTON = '<p data-card="button" class="mh-card mh-button">'
FILE = '<p data-card="file" class="mh-card mh-file">'
TOGGLE = '<details data-card="toggle" class="mh-card mh-toggle">'
CALLOUT = '<aside data-card="callout" class="mh-card mh-callout"><p class="mh-emoji">💡</p>'
AUDIO = (
    '<figure data-card="audio" class="mh-card mh-audio"><audio src="/a.mp3" controls=""></audio>'
)
JOIN = '<p data-card="join" class="mh-card mh-join"><a href="/member/sign-up">Join</a></p>'


@pytest.mark.parametrize(
    ("name", "card", "html"),
    [
        (
            "image",
            {"src": "/a.png", "alt": 'a "b"'},
            '<p><img src="/a.png" alt="a &quot;b&quot;"></p>',
        ),
        (
            "image",
            {"src": "/a.png", "caption": SPAN, "href": "/x", "width": 10, "height": 20},
            '<figure><a href="/x"><img src="/a.png" alt="" width="10" height="20"></a>'
            "<figcaption>Words</figcaption></figure>",
        ),
        ("image", {}, ""),
        (
            "gallery",
            {"images": [{"src": "/1.png"}, {"src": "/2.png", "alt": "x"}], "caption": "All"},
            '<figure data-card="gallery" class="mh-card mh-gallery"><img src="/1.png" alt="">'
            '<img src="/2.png" alt="x"><figcaption>All</figcaption></figure>',
        ),
        (
            "bookmark",
            {"url": "/b", "metadata": {"title": "T<", "description": "D"}, "caption": "C"},
            f'{BOOKMARK}<a href="/b"><strong>T&lt;</strong></a><figcaption>D</figcaption></figure>'
            "<p>C</p>",
        ),
        ("bookmark", {"url": "/b"}, f'{BOOKMARK}<a href="/b"><strong>/b</strong></a></figure>'),
        ("bookmark", {"url": "javascript:x"}, ""),
        (
            "callout",
            {"calloutText": f"<p>{SPAN}</p>", "calloutEmoji": "💡"},
            f"{CALLOUT}<p>Words</p></aside>",
        ),
        ("callout", {"calloutEmoji": "💡"}, ""),
        (
            "toggle",
            {"heading": SPAN, "content": "<p>In</p>"},
            f"{TOGGLE}<summary>Words</summary><p>In</p></details>",
        ),
        (
            "button",
            {"buttonText": "A & B", "buttonUrl": "/x"},
            f'{BUTTON}<a href="/x">A &amp; B</a></p>',
        ),
        ("button", {"buttonText": "lost"}, ""),
        (
            "embed",
            {"url": "https://v.example/1", "html": "<iframe></iframe>", "metadata": {"title": "T"}},
            f'{EMBED}<a href="https://v.example/1"><strong>T</strong></a>'
            "<figcaption>v.example</figcaption></figure>",
        ),
        (
            "embed",
            {
                "url": "https://t.example/1",
                "html": '<blockquote>Said <a href="https://t.example/1">x</a></blockquote><script>',
            },
            '<blockquote>Said <a href="https://t.example/1">x</a></blockquote>',
        ),
        ("html", {"html": "<b>raw</b>"}, "<b>raw</b>"),
        ("markdown", {"markdown": "#Tight\n\na\nb"}, "<h1>Tight</h1>\n<p>a<br />\nb</p>"),
        (
            "code",
            {"code": "<x>\n", "caption": "C"},
            "<figure><pre><code>&lt;x&gt;\n</code></pre><figcaption>C</figcaption></figure>",
        ),
        ("code", {"code": "x", "language": 'a"b'}, "<pre><code>x</code></pre>"),
        (
            "file",
            {"src": "/f.pdf", "fileName": "f.pdf", "fileCaption": "A <map>"},
            f'{FILE}<a href="/f.pdf">f.pdf</a></p><p>A &lt;map&gt;</p>',
        ),
        (
            "audio",
            {"src": "/a.mp3", "title": "1 < 2"},
            f"{AUDIO}<figcaption>1 &lt; 2</figcaption></figure>",
        ),
        ("header", {**HEADER, "buttonEnabled": False}, "<h2>Words</h2><p>Sub</p>"),
        ("product", PRODUCT, PRODUCT_HTML),
        ("hr", {}, "<hr>"),
        ("signup", {"header": "Join"}, JOIN),
        ("signup", {"buttonText": "Be < one"}, JOIN.replace("Join", "Be &lt; one")),
        ("email", {"html": "<p>Hi {first_name}</p>"}, ""),
        ("email-cta", {"html": "<p>Hi</p>"}, ""),
        ("paywall", {}, PAYWALL),
        ("unheard-of", {}, None),
    ],
)
def test_cards(name: str, card: dict[str, Any], html: str | None) -> None:
    assert render_card(name, card) == html


@pytest.mark.parametrize(
    ("drawn", "plain"),
    [
        (
            '<div class="kg-card kg-audio-card"><div class="kg-audio-title">T</div>'
            '<audio src="/a.mp3"></audio><span>0:00</span><button>1×</button></div>',
            f"{AUDIO}<figcaption>T</figcaption></figure>",
        ),
        (
            '<figure class="kg-card kg-video-card" data-kg-thumbnail="/t.jpg"><video src="/v.mp4" '
            'poster="https://img.spacergif.org/x" width="10" height="5"></video><span>0:00</span>'
            "<figcaption>C</figcaption></figure>",
            '<figure data-card="video" class="mh-card mh-video"><video src="/v.mp4" '
            'poster="/t.jpg" controls="" playsinline=""></video>'
            "<figcaption>C</figcaption></figure>",
        ),
        (
            '<div class="kg-card kg-file-card"><a href="/f.pdf"><div class="kg-file-card-title">T'
            '</div><div class="kg-file-card-caption">C</div><svg></svg></a></div>',
            f'{FILE}<a href="/f.pdf">T</a></p><p>C</p>',
        ),
        (
            '<figure class="kg-card kg-bookmark-card"><a class="kg-bookmark-container" href="/b">'
            '<div class="kg-bookmark-title">T</div><img src="/icon.ico"></a></figure>',
            f'{BOOKMARK}<a href="/b"><strong>T</strong></a></figure>',
        ),
        (
            '<div class="kg-card kg-toggle-card"><h4 class="kg-toggle-heading-text">H</h4>'
            '<button><svg></svg></button><div class="kg-toggle-content"><p>In</p></div></div>',
            f"{TOGGLE}<summary>H</summary><p>In</p></details>",
        ),
        (
            '<div class="kg-card kg-callout-card kg-callout-card-blue"><div '
            'class="kg-callout-emoji">💡</div><div class="kg-callout-text">A <b>b</b></div></div>',
            f"{CALLOUT}<p>A <b>b</b></p></aside>",
        ),
        (
            '<div class="kg-card kg-product-card"><img class="kg-product-card-image" src="/p.png">'
            '<h4 class="kg-product-card-title">Words</h4>'
            + '<span class="kg-product-card-rating-active"></span>'
            * 4
            + '<div class="kg-product-card-description"><p>About</p></div>'
            '<a class="kg-product-card-button" href="/buy">Buy</a></div>',
            PRODUCT_HTML,
        ),
        (
            '<div class="kg-card kg-header-card kg-v2"><h2 class="kg-header-card-heading">H</h2>'
            '<p class="kg-header-card-subheading">S</p><a class="kg-header-card-button" '
            'href="/go">Go</a></div>',
            f'<h2>H</h2><p>S</p>{BUTTON}<a href="/go">Go</a></p>',
        ),
        (
            '<div class="kg-card kg-cta-card"><div class="kg-cta-sponsor-label">Ad</div>'
            '<div class="kg-cta-text"><p>Text</p></div>'
            '<a class="kg-cta-button" href="/c">C</a></div>',
            f'<p>Ad</p><p>Text</p>{BUTTON}<a href="/c">C</a></p>',
        ),
        (
            '<div class="kg-card kg-button-card"><a href="/x">X</a></div>',
            f'{BUTTON}<a href="/x">X</a></p>',
        ),
        ('<div class="kg-card kg-signup-card"><h2>Join</h2><form></form></div>', JOIN),
        (
            '<figure class="kg-card kg-embed-card"><iframe title="A film" '
            'src="https://www.youtube.com/embed/dQw4w9WgXcQ?feature=oembed"></iframe></figure>',
            f'{EMBED}<a href="https://www.youtube.com/watch?v=dQw4w9WgXcQ">'
            "<strong>A film</strong></a><figcaption>YouTube</figcaption></figure>",
        ),
        (
            '<figure class="kg-card kg-gallery-card"><div class="kg-gallery-row"><img src="/1.png" '
            'width="9"></div></figure>',
            '<figure data-card="gallery" class="mh-card mh-gallery"><img src="/1.png" alt="" '
            'width="9"></figure>',
        ),
    ],
)
def test_drawn_cards(drawn: str, plain: str) -> None:
    assert simplified(f"<p>a</p>{drawn}<p>b</p>") == f"<p>a</p>{plain}<p>b</p>"


@pytest.mark.parametrize(
    "html",
    [
        "<p>unclosed <b>as it was",
        '<figure class="kg-card kg-image-card"><img src="/a.png"></figure>',
        "<div>" * 3_000 + "kg-audio-card",
    ],
)
def test_html_without_such_cards_is_not_touched(html: str) -> None:
    assert simplified(html) == html


@pytest.mark.parametrize(
    "html",
    [
        "<!--kg-card-begin: html--><!--masthead:html-->" * 5_000,
        '<div class="kg-card kg-callout-card"><div class="kg-callout-text">' * 900
        + "<b>x</b>" * 100,
    ],
    ids=["HTML", "callouts"],
)
def test_hostile_cards_are_cheap(html: str) -> None:
    """Quadratic time would not end within the suite's own limit."""
    assert body_of({"html": html})[0].count("<b>") in (0, 100)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        ("  \n", ""),
        ("| a |\n|---|\n| b |", "<table>"),
        ("~~x~~", "<s>x</s>"),
        ("```\n#code\n```\n#Heading", "#code"),
        ("[a]: /x\n\n[a]", '<a href="/x">a</a>'),
    ],
)
def test_markdown(text: str, html: str) -> None:
    assert html in render_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MAX_LENGTH + 1),
        "![" * 20_000,
        f"[a]: /{'x' * 20_000}\n\n" + "word [a] " * 5_000,
    ],
)
def test_markdown_that_would_take_seconds_or_explode_is_shown_as_it_was_written(text: str) -> None:
    assert render_markdown(text) == f"<pre>{text}</pre>"
