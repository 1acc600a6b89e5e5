"""Renders the embeds of a Substack post, which Substack's scripts fill in, as plain HTML.

In the file, each is an element with a class and its data as JSON. Players become links; buttons
such as "Subscribe" are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

from lxml.html import HtmlElement

from masthead.content.cards.bookmark import CARD as BOOKMARK
from masthead.content.cards.button import CARD as BUTTON
from masthead.content.cards.embed import CARD as EMBED
from masthead.content.cards.file import CARD as FILE
from masthead.content.cards.gallery import galleries
from masthead.content.cards.join import CARD as JOIN
from masthead.content.cards.values import LONGEST_TITLE
from masthead.faces.importers.source import PAYWALL

Data = Mapping[str, Any]
Embed = Callable[[HtmlElement, Data], str | None]

# Subscribe, share, comment, gift, refer: these links do not work outside of Substack.
_CALLS_TO_ACTION: Final = re.compile(
    r"%%\w+%%|/subscribe\b|/comments\b|[?&]action=share|/leaderboard\b|/account\b|"
    r"substack\.com/(?:chat|refer|app)|/chat\b|[?&]gift=true|/survey/",
    re.IGNORECASE,
)


def replacement(element: HtmlElement, data: Data) -> str | None:
    """The HTML that replaces the element; None where it stays."""
    for name in str(element.get("class") or "").split():
        embed = _EMBEDS.get(name)
        if embed is not None:
            return embed(element, data)
    return None


def link(url: str, text: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        return ""
    return f'<p><a href="{escape(url)}">{escape(text or url, quote=False)}</a></p>'


def _text(data: Data, *names: str) -> str:
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _nothing(_: HtmlElement, __: Data) -> str:
    return ""


def _button(element: HtmlElement, data: Data) -> str:
    inner = element.find(".//a")
    url = _text(data, "url") or ("" if inner is None else str(inner.get("href") or ""))
    text = _text(data, "text") or str(element.text_content()).strip()
    if _CALLS_TO_ACTION.search(url):
        return ""
    return BUTTON.made({"url": url, "label": text}) or link(url, text)


def _picture_link(element: HtmlElement, data: Data) -> str | None:
    """The picture, with a link only where the author set one."""
    image = element.find(".//img")
    if image is None:
        return None
    target = _text(data, "href")
    picture = _picture({**image.attrib})
    return f'<a href="{escape(target)}">{picture}</a>' if target else picture


def _picture(attributes: Mapping[str, str]) -> str:
    names = ("src", "title", "width", "height")
    shown = "".join(f' {name}="{escape(attributes[name])}"' for name in names if name in attributes)
    return f'<img alt="{escape(attributes.get("alt", ""))}"{shown}>'


def _gallery(_: HtmlElement, data: Data) -> str:
    gallery = data.get("gallery")
    images = gallery.get("images") if isinstance(gallery, dict) else None
    found = [each for each in images or () if isinstance(each, dict)]
    caption = _text(gallery, "caption") if isinstance(gallery, dict) else ""
    return galleries(
        [{"src": each.get("src"), "alt": _text(each, "alt")} for each in found], caption
    )


def _at(address: str, *names: str) -> Embed:
    """A link to a site, from the id that it uses."""

    def embed(_: HtmlElement, data: Data) -> str:
        found = _text(data, *names)
        return link(address + found, "") if re.fullmatch(r"[\w-]+", found) else ""

    return embed


def _linked(_: HtmlElement, data: Data) -> str:
    url = _text(data, "url", "canonical_url", "base_url", "targetUrl", "src")
    title = _text(data, "title", "name")
    shown = link(url, title)
    return shown and (EMBED.made({"url": url, "title": title[:LONGEST_TITLE]}) or shown)


def _post_of_substack(_: HtmlElement, data: Data) -> str | None:
    url = _text(data, "canonical_url", "url")
    about = {"title": _text(data, "title")[:LONGEST_TITLE], "image": _text(data, "cover_image")}
    return BOOKMARK.made({"url": url, **about}) or None


def _join(_: HtmlElement, __: Data) -> str:
    return JOIN.made({})


def _callout(element: HtmlElement, _: Data) -> None:
    """Stays, because there may be embeds in it."""
    element.tag = "aside"
    element.set("data-card", "callout")


def _linked_if_known(element: HtmlElement, data: Data) -> str | None:
    return _linked(element, data) or None


def _post_elsewhere(element: HtmlElement, data: Data) -> str:
    text = _text(data, "full_text", "text") or str(element.text_content()).strip()
    lines = escape(text, quote=False).replace("\n", "<br>")
    quote = f"<blockquote><p>{lines}</p></blockquote>" if text else ""
    return quote + link(_text(data, "url"), _text(data, "name", "username"))


def _formula(element: HtmlElement, data: Data) -> str:
    code = f"<code>{escape(_text(data, 'persistentExpression'), quote=False)}</code>"
    return code if element.tag == "span" else f"<pre>{code}</pre>"


def _quote(element: HtmlElement, _: Data) -> None:
    """Stays with another tag, because there may be embeds in it."""
    element.tag = "blockquote"


def _file(element: HtmlElement, _: Data) -> str:
    inner = element.find(".//a[@href]")
    title = element.find('.//*[@class="file-embed-details-h1"]')
    url = "" if inner is None else str(inner.get("href"))
    name = "" if title is None else str(title.text_content()).strip()
    return FILE.made({"src": url, "name": name[:200]}) or link(url, name)


def _mention(element: HtmlElement, data: Data) -> str:
    return escape(str(element.text_content()).strip() or _text(data, "name"), quote=False)


def _footnote(element: HtmlElement, _: Data) -> None:
    """Moves the number into the first line of the note."""
    number, first = element.find("./a"), element.find(".//p")
    if number is not None and first is not None:
        number.tail = f" {first.text or ''}"
        first.text = None
        first.insert(0, number)


def _paywall(_: HtmlElement, __: Data) -> str:
    return PAYWALL


_SIGN_UPS: Final = (
    "subscription-widget",
    "subscription-widget-wrap",
    "subscription-widget-wrap-editor",
    "subscribe-widget",
)
_DROPPED: Final = (
    "captioned-button-wrap",
    "poll-embed",
    "community-chat",
    "directMessage",
    "install-substack-app-embed",
    "install-substack-app-embed-wrap",
    "sponsorship-campaign-embed",
    "image-link-expand",
    "header-anchor-parent",
    "header-anchor-widget",
)
_PLAYERS: Final = (
    "spotify-wrap",
    "soundcloud-wrap",
    "apple-podcast-container",
    "bandcamp-wrap",
    "tiktok-wrap",
    "datawrapper-wrap",
    "prediction-market-wrap",
    "embedded-publication-wrap",
)
NATIVE: Final = frozenset({"native-video-embed", "native-audio-embed"})
"""Recordings hosted by Substack; the export has neither the files nor their addresses."""

_EMBEDS: Final[Mapping[str, Embed]] = {
    **dict.fromkeys(_SIGN_UPS, _join),
    **dict.fromkeys(_DROPPED, _nothing),
    **dict.fromkeys(_PLAYERS, _linked),
    **dict.fromkeys(sorted(NATIVE), _nothing),
    "paywall-jump": _paywall,
    "paywall": _paywall,
    "button-wrapper": _button,
    "image2": _picture_link,
    "image-link": _picture_link,
    "image-gallery-embed": _gallery,
    "youtube-wrap": _at("https://www.youtube.com/watch?v=", "videoId"),
    "vimeo-wrap": _at("https://vimeo.com/", "videoId"),
    "instagram": _at("https://www.instagram.com/p/", "instagram_id"),
    "tweet": _post_elsewhere,
    "twitter-embed": _post_elsewhere,
    "bluesky-wrap": _post_elsewhere,
    "comment": _linked_if_known,
    "embedded-post-wrap": _post_of_substack,
    "digest-post-embed": _post_of_substack,
    "latex-rendered": _formula,
    "pullquote": _quote,
    "callout-block": _callout,
    "file-embed-wrapper": _file,
    "mention-wrap": _mention,
    "footnote": _footnote,
}
