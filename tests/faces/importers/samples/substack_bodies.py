"""Bodies as Substack exports them, by the post's number and address."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

_MEDIA: Final = "https%3A%2F%2Fsubstack-post-media.s3.amazonaws.com%2Fpublic%2Fimages%2Fpier.png"
_CDN: Final = f"https://substackcdn.com/image/fetch/w_1456,c_limit,f_auto/{_MEDIA}"


def _data(kind: str, tag: str = "div", inside: str = "", **data: Any) -> str:
    return f'<{tag} class="{kind}" data-attrs="{escape(json.dumps(data))}">{inside}</{tag}>'


_PICTURE: Final = (
    '<div class="captioned-image-container"><figure><a class="image-link image2" target="_blank" '
    f'href="{_CDN}"><div class="image2-inset"><picture><source type="image/webp" srcset="{_CDN} '
    f'424w"><img src="{_CDN}" width="1456" height="970" class="sizing-normal" alt="The pier" '
    'data-attrs="{}"></picture><div class="image-link-expand"><button><svg><title>open</title>'
    "</svg></button></div></div></a><figcaption class='image-caption'>At <em>noon</em></figcaption>"
    "</figure></div>"
)


def _note(number: int) -> str:
    return (
        f'<div class="footnote" data-component-name="FootnoteToDOM"><a id="footnote-{number}" '
        f'href="#footnote-anchor-{number}" class="footnote-number" contenteditable="false">{number}'
        f'</a><div class="footnote-content"><p>Note {number}, <i>said</i> late.</p></div></div>'
    )


def _anchor(number: int) -> str:
    return (
        f'<a class="footnote-anchor" data-component-name="FootnoteAnchorToDOM" id="footnote-anchor-'
        f'{number}" href="#footnote-{number}" target="_self">{number}</a>'
    )


BODIES: Final = {
    "160000301.plain": "<h2>Ebb</h2><p>The <strong>first</strong> words, <a href='https://far."
    "example/?a=1&amp;b=2'>a link</a>.</p><ul><li><p>rope</p></li><li><p>oars</p></li></ul>"
    "<pre><code>a &lt; b</code></pre><blockquote><p>Time and tide.</p></blockquote>",
    "160000302.pictures": f"<p>Before</p>{_PICTURE}<p>after</p>",
    "160000303.gallery": "<p>All:</p>"
    + _data("image-gallery-embed", gallery={"images": [{"src": "/1.png"}, {"src": "/2.png"}]}),
    "160000304.notes": f"<p>It rises{_anchor(1)} and falls{_anchor(2)}.</p>{_note(1)}{_note(2)}",
    "160000305.embeds": "<p>Seen:</p>"
    + _data("youtube-wrap", videoId="aaaaaaaaaaa", inside="<iframe></iframe>")
    + "<p>heard:</p>"
    + _data("spotify-wrap", url="https://open.spotify.example/1", title="Gulls")
    + "<p>said:</p>"
    + _data("tweet", url="https://t.example/1", full_text="High\nwater", name="Anna")
    + "<p>counted:</p>"
    + _data("latex-rendered", persistentExpression="h < 2")
    + "<p>End.</p>",
    "160000306.asking": "<p>Read on.</p>"
    '<div class="subscription-widget-wrap-editor"><div class="preamble"><p>Thanks!</p></div>'
    '<form><input type="email"><button>Subscribe</button></form></div>'
    + _data("button-wrapper", "p", "<a>Share</a>", url="%%share_url%%", text="Share")
    + "<p>Done.</p>",
    "160000307.paywall": '<p>For all.</p><div class="paywall-jump" data-component-name="Paywall">'
    "</div><p>For some.</p>",
    "160000308.quotes": '<div class="pullquote"><p>Wait.</p></div>'
    '<div class="callout-block" data-callout="true"><p>Mind the step.</p></div><div><hr></div>'
    "<h3 class='header-anchor-post'>Later<div class='pencraft'></div></h3><p>So.</p>",
    "160000309.letters": "<p>潮が満ちる 🌊 <span>naïve</span>&nbsp;&amp; soft&shy;ly</p><p></p>",
    "160000310.hostile": '<p onclick="alert(1)">Click</p><script>alert(2)</script>'
    '<a href="javascript:alert(3)">here</a><p>now</p>',
}
