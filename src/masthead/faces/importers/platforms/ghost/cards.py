"""Renders the cards of Ghost's editor as plain HTML, for both formats that have them.

Players of other sites become links. Signup forms and parts for emails are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

from masthead.content.cards.button import CARD as BUTTON
from masthead.content.cards.card import Card as OurCard
from masthead.content.cards.catalog import CARDS
from masthead.content.cards.embed import CARD as EMBED
from masthead.content.cards.gallery import galleries
from masthead.content.cards.providers import player_of
from masthead.content.html.card_attributes import WIDTHS
from masthead.faces.importers.platforms.ghost.markdown import render_markdown
from masthead.faces.importers.source import PAYWALL

Card = Mapping[str, Any]
_OURS: Final[Mapping[str, OurCard]] = {
    name: each for each in CARDS.values() for name in each.ghost.names if name != "embed"
}

# The editor wraps the text of a caption in spans for white space.
_SPANS: Final = re.compile(r"</?span[^<>]*>", re.IGNORECASE)
_ENCLOSED: Final = re.compile(r"<p(?:\s[^>]*)?>(.*)</p>", re.IGNORECASE | re.DOTALL)
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)


def render_card(name: str, card: Card) -> str | None:
    """None for an unknown card."""
    if name in _OURS and (made := _made(_OURS[name], card)):
        return made + _below(name, card)
    render = _CARDS.get(name)
    # One of ours without what it needs, such as an address, is nothing.
    return render(card) if render else "" if name in _OURS else None


def _below(name: str, card: Card) -> str:
    """The caption of a card of ours that has no place for it."""
    if name == "file":
        return _paragraph(escape(_text(card, "fileCaption")))
    given = card.get("metadata")
    about: Card = given if isinstance(given, dict) else card
    if name == "bookmark" and _text(about, "description"):
        return _paragraph(_inline(card, "caption"))
    return ""


def _made(ours: OurCard, card: Card) -> str:
    """A card of our own; '' for what can't be one."""
    imported = ours.ghost.read(card) if ours.ghost.read else None
    if imported is None:
        return ""
    if ours.name == "gallery":
        return galleries(imported.values["images"], imported.values["caption"])
    return ours.made(imported.values, imported.inside)


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
    return BUTTON.made({"url": _text(card, "buttonUrl"), "label": _text(card, "buttonText")})


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
    width = _text(card, "cardWidth")
    if width not in WIDTHS:
        return _figure(inside, caption) if caption else f"<p>{inside}</p>"
    return f'<figure data-width="{width}">{inside}<figcaption>{caption}</figcaption></figure>'


def _paragraph(inside: str) -> str:
    return f"<p>{inside}</p>" if inside else ""


def _embed(card: Card) -> str:
    url = _text(card, "url")
    given = card.get("metadata")
    metadata: Card = given if isinstance(given, dict) else {}
    # The caption follows the card, with its links.
    made = _made(EMBED, {**card, "caption": ""})
    # An embedded post of a social network has its text in a blockquote.
    html = _quoted(_text(card, "html"))
    if made and (player_of(url) or not url or not html):
        return made + _paragraph(_inline(card, "caption"))
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
    **dict.fromkeys(("email", "email-cta", "transistor"), _always("")),
    "image": _image,
    "button": _button,
    "embed": _embed,
    "html": _html,
    "markdown": _markdown,
    "card-markdown": _markdown,
    "code": _code,
    "codeblock": _code,
    "product": _product,
    "header": _header,
    "call-to-action": _call_to_action,
    "cta": _call_to_action,
    "hr": _always("<hr>"),
    "horizontalrule": _always("<hr>"),
    "paywall": _always(PAYWALL),
}
