"""Substack's widgets and wrappers are gone; the author's words, links and pictures stay."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import pytest

from masthead.content.html.markup import cleaned as sanitized
from masthead.faces.importers.platforms.substack.markup import LEFT_OUT, cleaned

JOIN = '<p data-card="join"><a href="/member/sign-up">Join</a></p>'
HAS_PAYWALL = '<p>a</p><hr class="paywall"><p>b</p>'


def embed(name: str, data: dict[str, Any], inside: str = "", tag: str = "div") -> str:
    return f'<{tag} class="{name}" data-attrs="{escape(json.dumps(data))}">{inside}</{tag}>'


CDN = (
    "https://substackcdn.com/image/fetch/$s_!aB!,w_1456,c_limit/https%3A%2F%2Fmedia.example%2Fa.png"
)
PICTURE = (
    '<picture><source srcset="https://x.example/1.webp 424w, https://x.example/2.webp 848w">'
    f'<img src="{CDN}" alt="Alt" width="10" height="5" class="sizing-normal" srcset="{CDN} 424w" '
    'data-attrs="{}"></picture>'
)
PLAIN_PICTURE = f'<img alt="Alt" src="{CDN}" width="10" height="5">'


def captioned(target: str | None = None) -> str:
    data = escape(json.dumps({"href": target}))
    picture = PICTURE.replace('data-attrs="{}"', f'data-attrs="{data}"')
    return (
        '<div class="captioned-image-container"><figure><a class="image-link image2" '
        f'target="_blank" href="{CDN}"><div class="image2-inset">{picture}'
        '<div class="image-link-expand"><button><svg></svg></button></div></div></a>'
        '<figcaption class="image-caption">Cap</figcaption></figure></div>'
    )


@pytest.mark.parametrize(
    ("html", "clean"),
    [
        ("", ""),
        ("<p>Words</p>", "<p>Words</p>"),
        ('<p>a</p><div class="paywall-jump"></div><p>b</p>', HAS_PAYWALL),
        (
            '<p>a</p><div class="subscription-widget-wrap"><form>Join</form></div>',
            f"<p>a</p>{JOIN}",
        ),
        ("<div><hr></div>", "<hr>"),
        ("<div>Loose <b>words</b></div>", "<p>Loose <b>words</b></p>"),
        (
            '<h2 class="header-anchor-post">H<div class="header-anchor-parent"></div></h2>',
            "<h2>H</h2>",
        ),
        (captioned(), f"<figure>{PLAIN_PICTURE}<figcaption>Cap</figcaption></figure>"),
        (
            captioned("https://shop.example"),
            f'<figure><a href="https://shop.example">{PLAIN_PICTURE}</a>'
            "<figcaption>Cap</figcaption></figure>",
        ),
        (
            embed(
                "image-gallery-embed",
                {"gallery": {"images": [{"src": "/1"}, {"src": "/2"}], "caption": "All"}},
            ),
            '<figure data-card="gallery"><img src="/1" alt=""><img src="/2" alt="">'
            "<figcaption>All</figcaption></figure>",
        ),
        (embed("image-gallery-embed", {"gallery": []}), ""),
        (
            embed("youtube-wrap", {"videoId": "dQw4w9WgXcQ"}, "<iframe></iframe>"),
            '<p><a href="https://www.youtube.com/watch?v=dQw4w9WgXcQ">'
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ</a></p>",
        ),
        (embed("youtube-wrap", {"videoId": '"><script>'}), ""),
        (
            embed("spotify-wrap", {"url": "https://open.spotify.example/1", "title": "S & T"}),
            '<figure data-card="embed"><a href="https://open.spotify.example/1">'
            "<strong>S &amp; T</strong></a><figcaption>open.spotify.example</figcaption></figure>",
        ),
        (embed("spotify-wrap", {"url": "javascript:alert(1)"}), ""),
        (
            embed("tweet", {"url": "https://t.example/1", "full_text": "a\nb", "name": "N"}),
            '<blockquote><p>a<br>b</p></blockquote><p><a href="https://t.example/1">N</a></p>',
        ),
        (
            embed("button-wrapper", {"url": "https://shop.example/buy", "text": "Buy"}, tag="p"),
            '<p data-card="button"><a href="https://shop.example/buy">Buy</a></p>',
        ),
        (
            embed("button-wrapper", {"url": "https://x.example/subscribe?", "text": "J"}, tag="p"),
            "",
        ),
        (embed("button-wrapper", {"url": "%%share_url%%", "text": "Share"}, tag="p"), ""),
        (embed("button-wrapper", {"url": "https://x.example/p/a/comments"}, tag="p"), ""),
        (
            embed("latex-rendered", {"persistentExpression": "x<2"}),
            "<pre><code>x&lt;2</code></pre>",
        ),
        ('<div class="pullquote"><p>Q</p></div>', "<blockquote><p>Q</p></blockquote>"),
        (
            f'<div class="callout-block">{captioned()}</div>',
            f'<aside data-card="callout"><figure>{PLAIN_PICTURE}<figcaption>Cap</figcaption>'
            "</figure></aside>",
        ),
        (
            '<p>Text<a class="footnote-anchor" id="footnote-anchor-1" href="#footnote-1">1</a></p>'
            '<div class="footnote"><a id="footnote-1" href="#footnote-anchor-1">1</a>'
            '<div class="footnote-content"><p>Note.</p></div></div>',
            '<p>Text<a id="footnote-anchor-1" href="#footnote-1">1</a></p>'
            '<p><a id="footnote-1" href="#footnote-anchor-1">1</a> Note.</p>',
        ),
        (
            '<div class="file-embed-wrapper"><div class="file-embed-details-h1">F</div>'
            '<a class="file-embed-button" href="https://x.example/f.pdf">Download</a></div>',
            '<p data-card="file"><a href="https://x.example/f.pdf">F</a></p>',
        ),
        (
            '<p>Hi <span class="mention-wrap" data-attrs="{&quot;name&quot;:&quot;Ann&quot;}">'
            "</span>!</p>",
            "<p>Hi Ann!</p>",
        ),
        (
            '<div class="tweet" data-attrs="no json">said</div>',
            "<blockquote><p>said</p></blockquote>",
        ),
        ('<p style="x" onclick="y" data-z="1">a</p>', "<p>a</p>"),
        ("<p>a</p><!-- note -->", "<p>a</p>"),
    ],
)
def test_cleaned(html: str, clean: str) -> None:
    assert cleaned(html) == (clean, [])


def test_a_recording_that_only_substack_has_is_missed() -> None:
    html = '<p>a</p><div class="native-video-embed" data-attrs="{}"></div>'
    assert cleaned(html * 2) == ("<p>a</p><p>a</p>", [LEFT_OUT])


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 5_000 + "deep",
        '<div class="tweet"></div>' * 30_000,
        embed("tweet", {"a": "x" * 300_000}, "kept"),
        f'<div class="tweet" data-attrs="{"[" * 100_000}">kept</div>',
    ],
)
def test_hostile_html_is_cheap_and_loses_no_words(html: str) -> None:
    clean, _ = cleaned(html)
    assert ("kept" in clean) == ("kept" in html)


def note(number: int, anchor: str = "", address: str = "") -> str:
    return (
        f'<p>Text<a class="footnote-anchor" id="footnote-anchor-{number}{anchor}" '
        f'href="{address}#footnote-{number}{anchor}" target="_self">{number}</a></p>'
        f'<div class="footnote"><a id="footnote-{number}{anchor}" class="footnote-number" '
        f'href="{address}#footnote-anchor-{number}{anchor}">{number}</a>'
        f'<div class="footnote-content"><p>Note {number}.</p></div></div>'
    )


@pytest.mark.parametrize(
    ("anchor", "address"),
    [
        ("", ""),
        ("-160", ""),
        ("", "https://letters.substack.com/p/hello"),
        ("", "/p/hello?utm_source=x"),
    ],
)
def test_footnotes_lead_there_and_back_in_every_post(anchor: str, address: str) -> None:
    html, _ = cleaned(note(1, anchor, address) + note(2, anchor, address), "160", "hello")
    stored, _ = sanitized(html)
    for number in (1, 2):
        there, back = f"footnote-{number}-160", f"footnote-anchor-{number}-160"
        assert f'<a id="{back}" href="#{there}">{number}</a>' in stored
        assert f'<p><a id="{there}" href="#{back}">{number}</a> Note {number}.</p>' in stored


def test_a_note_whose_reference_is_missing_keeps_its_place() -> None:
    html, _ = cleaned(
        '<div class="footnote"><a id="footnote-1" href="#footnote-anchor-1">1</a>'
        "<p>Note.</p></div>",
        "7",
    )
    assert 'id="footnote-1-7"' in sanitized(html)[0]


def test_links_to_notes_of_other_posts_stay() -> None:
    link = '<p><a href="https://letters.substack.com/p/other#footnote-1">there</a></p>'
    assert cleaned(link, "160", "hello")[0] == link
