"""Texts in each of the forms that Ghost keeps them in."""

from __future__ import annotations

from typing import Any, Final


def _text(text: str, bits: int = 0) -> dict[str, Any]:
    return {"type": "extended-text", "text": text, "format": bits, "version": 1}


def _node(kind: str, *children: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {"type": kind, "version": 1, "children": list(children), **about}


LEXICAL: Final = {
    "root": _node(
        "root",
        _node("extended-heading", _text("High water"), tag="h2"),
        _node("paragraph", _text("It "), _text("rises", 1), _text(" and "), _text("falls", 2)),
        _node("list", _node("listitem", _text("rope")), _node("listitem", _text("oars")),
              listType="number", start=1),
        _node("extended-quote", _text("Time and tide.")),
        {"type": "image", "src": "__GHOST_URL__/content/images/pier.jpg", "alt": "Pier",
         "caption": "At noon"},
        {"type": "gallery", "images": [{"src": "/a.jpg"}, {"src": "/b.jpg"}], "caption": "Both"},
        {"type": "bookmark", "url": "https://far.example/", "metadata": {"title": "Far"}},
        {"type": "callout", "calloutText": "<p>Mind the step</p>", "calloutEmoji": "🌊"},
        {"type": "toggle", "heading": "More", "content": "<p>Inside</p>"},
        {"type": "button", "buttonText": "Go", "buttonUrl": "https://far.example/go"},
        {"type": "codeblock", "code": "a < b", "language": "py"},
        {"type": "markdown", "markdown": "*marked* down"},
        {"type": "html", "html": "<p>Raw <kbd>keys</kbd></p>"},
        {"type": "embed", "url": "https://video.example/1", "html": "<iframe></iframe>",
         "metadata": {"title": "A film"}},
        {"type": "file", "src": "/content/files/map.pdf", "fileName": "map.pdf"},
        {"type": "audio", "src": "/content/media/gulls.mp3"},
        {"type": "product", "productTitle": "Clock", "productDescription": "<p>Ticks</p>"},
        {"type": "horizontalrule"},
        {"type": "paywall"},
        {"type": "signup", "header": "Join"},
    )
}  # fmt: skip
LEXICAL_TEXT: Final = (
    "High water It rises and falls rope oars Time and tide. At noon Both Far 🌊 Mind the step More "
    "Inside Go a < b marked down Raw keys A film video.example map.pdf Clock Ticks Join"
)

MOBILEDOC: Final = {
    "version": "0.3.1",
    "markups": [["strong"], ["a", ["href", "https://far.example/?a=1&b=2"]]],
    "atoms": [["soft-return", "", {}]],
    "cards": [
        ["image", {"src": "/content/images/pier.jpg", "caption": "At noon"}],
        ["markdown", {"markdown": "a *list*:\n\n- rope\n- oars"}],
        ["html", {"html": "<p>Raw</p>"}],
        ["hr", {}],
        ["gallery", {"images": [{"src": "/a.jpg"}, {"src": "/b.jpg"}]}],
        ["code", {"code": "a < b"}],
    ],
    "sections": [
        [1, "h2", [[0, [], 0, "Low water"]]],
        [1, "p", [[0, [0], 1, "Bold"], [0, [], 0, " and "], [0, [1], 1, "linked"]]],
        [1, "p", [[0, [], 0, "two"], [1, [], 0, 0], [0, [], 0, "lines"]]],
        [3, "ul", [[[0, [], 0, "one"]], [[0, [], 0, "two"]]]],
        *([10, number] for number in range(6)),
        [1, "blockquote", [[0, [], 0, "Said."]]],
    ],
}
MOBILEDOC_TEXT: Final = (
    "Low water Bold and linked two lines one two At noon a list: rope oars Raw a < b Said."
)

HTML: Final = (
    '<h2 id="ebb">Ebb</h2><p>And <strong>flow</strong>, <a href="__GHOST_URL__/tide-1/">see one</a>'
    '</p><ul><li>rope</li><li>oars<ul><li>two</li></ul></li></ul><pre><code class="language-py">'
    "a &lt; b\n\nc</code></pre><blockquote>Time and tide.</blockquote><hr><table><tr><td>6</td>"
    "<td>2.1 m</td></tr></table>"
)
# As Ghost draws them, for posts that have no other form.
CARDS: Final = (
    '<figure class="kg-card kg-image-card kg-card-hascaption"><img src="__GHOST_URL__/content/'
    'images/pier.jpg" class="kg-image" alt="Pier" width="2000" height="1333"><figcaption>'
    "<span>At noon</span></figcaption></figure>"
    '<figure class="kg-card kg-gallery-card"><div class="kg-gallery-container"><div class="'
    'kg-gallery-row"><div class="kg-gallery-image"><img src="/a.jpg"></div><div class="'
    'kg-gallery-image"><img src="/b.jpg"></div></div></div></figure>'
    '<div class="kg-card kg-callout-card kg-callout-card-blue"><div class="kg-callout-emoji">🌊'
    '</div><div class="kg-callout-text">Mind the step</div></div>'
    '<div class="kg-card kg-button-card kg-align-center"><a href="https://far.example/go" class="'
    'kg-btn kg-btn-accent">Go</a></div>'
    '<figure class="kg-card kg-code-card"><pre><code>a &lt; b</code></pre><figcaption>Code'
    "</figcaption></figure><!--kg-card-begin: html--><p>Raw</p><!--kg-card-end: html-->"
    '<figure class="kg-card kg-bookmark-card"><a class="kg-bookmark-container" href="https://far.'
    'example/"><div class="kg-bookmark-content"><div class="kg-bookmark-title">Far</div></div></a>'
    "</figure><p>End.</p>"
)
