"""Renders the cards of Ghost's editor as plain HTML, for both formats that have them.

Players of other sites become links. Signup forms and parts for emails are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

from masthead.faces.importers.platforms.ghost.markdown import render_markdown
from masthead.faces.importers.source import PAYWALL

Card = Mapping[str, Any]

# The editor wraps the text of a caption in spans for white space.
_SPANS: Final = re.compile(r"</?span[^<>]*>", re.IGNORECASE)
_ENCLOSED: Final = re.compile(r"<p(?:\s[^>]*)?>(.*)</p>", re.IGNORECASE | re.DOTALL)
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)


def render_card(name: str, card: Card) -> str | None:
    """None for an unknown card."""
    render = _CARDS.get(name)
    return render(card) if render else None


def attribute(name: str, value: object) -> str:
    """With a leading space; '' without a value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return ""
    return f' {name}="{escape(str(value))}"'


def _text(card: Card, name: str) -> str:
    value = card.get(name)
    return value.strip() if isinstance(value, str) else ""


def _markup(card: Card, name: str) -> str:
    """A property that holds HTML."""
    return _SPANS.sub("", _text(card, name)).strip()


def _inline(card: Card, name: str) -> str:
    """Without a single enclosing paragraph, for text inside another element."""
    markup = _markup(card, name)
    enclosed = _ENCLOSED.fullmatch(markup)
    return enclosed[1] if enclosed and "<p" not in enclosed[1].lower() else markup


def _figure(inside: str, caption: str) -> str:
    shown = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{inside}{shown}</figure>" if inside else ""


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
    # An empty alternative text means that the picture is decorative.
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
    return _figure(pictures, _inline(card, "caption"))


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
    text = _inline(card, "calloutText")
    inside = f"{emoji} {text}".strip() if text else ""
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
    # An embedded post of a social network has its text in a blockquote; a player has no text.
    html = _quoted(_text(card, "html"))
    if url not in html or not html:
        html += _link(url, escape(_text(metadata, "title") or url))
    return html + _paragraph(_inline(card, "caption"))


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
    player = f"<audio controls{attribute('src', source)}></audio>" if source else ""
    return _figure(player, title)


def _video(card: Card) -> str:
    source = _text(card, "src")
    poster = _text(card, "customThumbnailSrc") or _text(card, "thumbnailSrc")
    sizes = attribute("width", card.get("width")) + attribute("height", card.get("height"))
    about = attribute("src", source) + attribute("poster", poster) + sizes
    return _figure(f"<video controls{about}></video>" if source else "", _inline(card, "caption"))


def _product(card: Card) -> str:
    title, about = _inline(card, "productTitle"), _markup(card, "productDescription")
    parts = [_image({"src": card.get("productImageSrc"), "alt": ""})]
    parts.append(f"<h4>{title}</h4>" if title else "")
    stars = card.get("productStarRating")
    if card.get("productRatingEnabled") is True and isinstance(stars, int) and 0 <= stars <= 5:
        parts.append(f"<p>{'★' * stars}{'☆' * (5 - stars)}</p>")
    parts.append(about if about.startswith("<") else _paragraph(about))
    if card.get("productButtonEnabled") is True:
        parts.append(_link(_text(card, "productUrl"), escape(_text(card, "productButton"))))
    return "".join(parts)


def _header(card: Card) -> str:
    header, subheader = _inline(card, "header"), _inline(card, "subheader")
    parts = [_image({"src": card.get("backgroundImageSrc"), "alt": ""})]
    parts.append(f"<h2>{header}</h2>" if header else "")
    parts.append(_paragraph(subheader))
    parts.append(_button(card) if card.get("buttonEnabled") is True else "")
    return "".join(parts)


def _call_to_action(card: Card) -> str:
    label = _inline(card, "sponsorLabel") if card.get("hasSponsorLabel") is True else ""
    text = _markup(card, "textValue")
    button = _button(card) if card.get("showButton") is not False else ""
    picture = _image({"src": card.get("imageUrl"), "alt": ""})
    return (
        _paragraph(label) + picture + (text if text.startswith("<") else _paragraph(text)) + button
    )


def _always(html: str) -> Callable[[Card], str]:
    return lambda _: html


_CARDS: Final[Mapping[str, Callable[[Card], str]]] = {
    **dict.fromkeys(("signup", "email", "email-cta", "transistor"), _always("")),
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
    "hr": _always("<hr>"),
    "horizontalrule": _always("<hr>"),
    "paywall": _always(PAYWALL),
}
