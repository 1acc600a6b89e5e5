"""The cards of Ghost's editor as plain HTML, the same for both of the formats that hold them.

A card is drawn by Ghost with its own styles and scripts; here it becomes what it says. Players of
other sites become links to them, and what only asks for an address or was written for a mail is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

from masthead.importers.ghost.markdown import render_markdown
from masthead.importers.source import PAYWALL

Card = Mapping[str, Any]

# The editor wraps every run of a caption in a span for its blanks.
_SPANS: Final = re.compile(r"</?span[^<>]*>", re.IGNORECASE)
_ENCLOSED: Final = re.compile(r"<p(?:\s[^>]*)?>(.*)</p>", re.IGNORECASE | re.DOTALL)
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)


def render_card(name: str, card: Card) -> str | None:
    """None for a card that nobody knows here."""
    render = _CARDS.get(name)
    return render(card) if render else None


def attribute(name: str, value: object) -> str:
    """With the blank before it; nothing without a value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return ""
    return f' {name}="{escape(str(value))}"'


def _text(card: Card, name: str) -> str:
    value = card.get(name)
    return value.strip() if isinstance(value, str) else ""


def _markup(card: Card, name: str) -> str:
    """A property that holds HTML of its own."""
    return _SPANS.sub("", _text(card, name)).strip()


def _inline(card: Card, name: str) -> str:
    """Without the one paragraph around it, where the text stands in something else."""
    markup = _markup(card, name)
    enclosed = _ENCLOSED.fullmatch(markup)
    return enclosed[1] if enclosed and "<p" not in enclosed[1].lower() else markup


def _figure(inside: str, caption: str) -> str:
    return f"<figure>{inside}<figcaption>{caption}</figcaption></figure>"


def _link(url: str, text: str) -> str:
    return f"<p><a{attribute('href', url)}>{text}</a></p>" if url and text else ""


def _button(card: Card) -> str:
    return _link(_text(card, "buttonUrl"), escape(_text(card, "buttonText")))


def _picture(card: Card) -> str:
    source = _text(card, "src")
    if not source:
        return ""
    sizes = attribute("width", card.get("width")) + attribute("height", card.get("height"))
    title = attribute("title", _text(card, "title"))
    # An empty text is a statement too: the picture is an ornament.
    return f'<img{attribute("src", source)} alt="{escape(_text(card, "alt"))}"{title}{sizes}>'


def _image(card: Card) -> str:
    picture = _picture(card)
    if not picture:
        return ""
    href = _text(card, "href")
    inside = f"<a{attribute('href', href)}>{picture}</a>" if href else picture
    caption = _inline(card, "caption")
    return _figure(inside, caption) if caption else f"<p>{inside}</p>"


def _gallery(card: Card) -> str:
    given = card.get("images")
    images = given if isinstance(given, list) else []
    pictures = "".join(_picture(each) for each in images if isinstance(each, dict))
    caption = _inline(card, "caption")
    if not pictures:
        return ""
    return _figure(pictures, caption) if caption else f"<figure>{pictures}</figure>"


def _bookmark(card: Card) -> str:
    given = card.get("metadata")
    metadata: Card = given if isinstance(given, dict) else card
    url = _text(card, "url") or _text(metadata, "url")
    title = escape(_text(metadata, "title") or url)
    about = escape(_text(metadata, "description"))
    if not url:
        return ""
    about = f"<br>{about}" if about else ""
    quote = f"<blockquote><p><a{attribute('href', url)}>{title}</a>{about}</p></blockquote>"
    return quote + _paragraph(_inline(card, "caption"))


def _paragraph(inside: str) -> str:
    return f"<p>{inside}</p>" if inside else ""


def _callout(card: Card) -> str:
    emoji = escape(_text(card, "calloutEmoji"))
    said = _inline(card, "calloutText")
    inside = f"{emoji} {said}".strip() if said else ""
    return f"<blockquote>{_paragraph(inside)}</blockquote>" if inside else ""


def _toggle(card: Card) -> str:
    heading, content = _inline(card, "heading"), _markup(card, "content")
    if not heading and not content:
        return ""
    return f"<details><summary>{heading}</summary>{content}</details>"


def _embed(card: Card) -> str:
    url = _text(card, "url")
    given = card.get("metadata")
    metadata: Card = given if isinstance(given, dict) else {}
    # A quoted post has its words in the page; a player has none.
    said = _quoted(_text(card, "html"))
    if url not in said or not said:
        said += _link(url, escape(_text(metadata, "title") or url))
    return said + _paragraph(_inline(card, "caption"))


def _quoted(html: str) -> str:
    start, end = html.find("<blockquote"), html.rfind("</blockquote>")
    return f"{html[start:end]}</blockquote>" if 0 <= start < end else ""


def _html(card: Card) -> str:
    return _text(card, "html")


def _markdown(card: Card) -> str:
    return render_markdown(_text(card, "markdown"))


def _code(card: Card) -> str:
    code = card.get("code")
    if not isinstance(code, str) or not code:
        return ""
    language = _LANGUAGE.fullmatch(_text(card, "language"))
    kind = f' class="language-{escape(language[0])}"' if language else ""
    block = f"<pre><code{kind}>{escape(code, quote=False)}</code></pre>"
    caption = _inline(card, "caption")
    return _figure(block, caption) if caption else block


def _file(card: Card) -> str:
    title = _text(card, "fileTitle") or _text(card, "fileName")
    about = escape(_text(card, "fileCaption"))
    return _link(_text(card, "src"), escape(title or "Download")) + _paragraph(about)


def _audio(card: Card) -> str:
    source, title = _text(card, "src"), escape(_text(card, "title"))
    player = f"<audio controls{attribute('src', source)}></audio>"
    return (_figure(player, title) if title else f"<figure>{player}</figure>") if source else ""


def _video(card: Card) -> str:
    source, caption = _text(card, "src"), _inline(card, "caption")
    poster = _text(card, "customThumbnailSrc") or _text(card, "thumbnailSrc")
    sizes = attribute("width", card.get("width")) + attribute("height", card.get("height"))
    about = attribute("src", source) + attribute("poster", poster) + sizes
    player = f"<video controls{about}></video>"
    if not source:
        return ""
    return _figure(player, caption) if caption else f"<figure>{player}</figure>"


def _product(card: Card) -> str:
    title, about = _inline(card, "productTitle"), _markup(card, "productDescription")
    said = [_image({"src": card.get("productImageSrc"), "alt": ""})]
    said.append(f"<h4>{title}</h4>" if title else "")
    stars = card.get("productStarRating")
    if card.get("productRatingEnabled") is True and isinstance(stars, int) and 0 <= stars <= 5:
        said.append(f"<p>{'★' * stars}{'☆' * (5 - stars)}</p>")
    said.append(about if about.startswith("<") else _paragraph(about))
    if card.get("productButtonEnabled") is True:
        said.append(_link(_text(card, "productUrl"), escape(_text(card, "productButton"))))
    return "".join(said)


def _header(card: Card) -> str:
    header, subheader = _inline(card, "header"), _inline(card, "subheader")
    said = [_image({"src": card.get("backgroundImageSrc"), "alt": ""})]
    said.append(f"<h2>{header}</h2>" if header else "")
    said.append(_paragraph(subheader))
    said.append(_button(card) if card.get("buttonEnabled") is True else "")
    return "".join(said)


def _call_to_action(card: Card) -> str:
    label = _inline(card, "sponsorLabel") if card.get("hasSponsorLabel") is True else ""
    said = _markup(card, "textValue")
    button = _button(card) if card.get("showButton") is not False else ""
    picture = _image({"src": card.get("imageUrl"), "alt": ""})
    return (
        _paragraph(label) + picture + (said if said.startswith("<") else _paragraph(said)) + button
    )


def _rule(_: Card) -> str:
    return "<hr>"


def _paywall(_: Card) -> str:
    return PAYWALL


def _nothing(_: Card) -> str:
    return ""


_CARDS: Final[Mapping[str, Callable[[Card], str]]] = {
    "image": _image,
    "gallery": _gallery,
    "bookmark": _bookmark,
    "callout": _callout,
    "toggle": _toggle,
    "button": _button,
    "embed": _embed,
    "html": _html,
    "markdown": _markdown,
    "card-markdown": _markdown,
    "code": _code,
    "codeblock": _code,
    "file": _file,
    "audio": _audio,
    "video": _video,
    "product": _product,
    "header": _header,
    "call-to-action": _call_to_action,
    "cta": _call_to_action,
    "hr": _rule,
    "horizontalrule": _rule,
    "signup": _nothing,
    "email": _nothing,
    "email-cta": _nothing,
    "paywall": _paywall,
    "transistor": _nothing,
}
