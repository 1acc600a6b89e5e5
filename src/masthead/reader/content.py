"""A post's HTML as its page shows it: sanitized, without inline styles, pictures loaded late.

Stored HTML is what a client sent, so every page and feed shows it through this module only.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from markupsafe import Markup

from masthead.html.markup import Attributes, Token, cleaned, escaped, written
from masthead.posts.site import without_paywall

_LONG: Final = 50_000
"""Characters from which the sanitizer has a thread of its own."""
_ALIGN: Final = re.compile(r"text-align: (left|center|right|justify)")


async def displayed(html: str) -> Markup:
    if not html:
        return Markup("")
    if len(html) > _LONG:
        return await asyncio.to_thread(_displayed, html)
    return _displayed(html)


def _displayed(html: str) -> Markup:
    _, tokens = cleaned(without_paywall(html))
    return Markup("".join(map(_shown, tokens)))  # noqa: S704  (sanitized, and written anew)


def _shown(token: Token) -> str:
    if token.kind == "text":
        return escaped(token.name)
    # The page's own title is its only first heading.
    name = "h2" if token.name == "h1" else token.name
    if token.kind == "end":
        return f"</{name}>"
    return written(name, _attributes(token))


def _attributes(token: Token) -> Attributes:
    attributes = dict(token.attributes)
    # The site's policy forbids inline styles; alignment is a class of the style sheet.
    align = _ALIGN.search(attributes.pop("style", ""))
    if align:
        attributes["class"] = f"align-{align[1]}"
    if token.name == "img":
        attributes.setdefault("alt", "")
        attributes |= {"loading": "lazy", "decoding": "async"}
    if token.name == "a" and attributes.get("target") == "_blank":
        attributes["rel"] = f"{attributes.get('rel', '')} noopener".strip()
    if token.name in ("pre", "table"):
        # They may be wider than the screen: the keyboard has to be able to scroll them.
        attributes["tabindex"] = "0"
    return attributes
