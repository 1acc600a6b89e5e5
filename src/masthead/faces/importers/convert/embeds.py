"""Makes cards of the players in a text: a paragraph that holds nothing but the address of one, as
frames become when they are cleaned."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from masthead.content.cards.embed import CARD
from masthead.content.cards.providers import player_of

_ALONE: Final = re.compile(
    r'(<figure>)?<p><a href="([^"]{1,2000})"[^<>]*>([^<>]{1,2000})</a></p>(?(1)</figure>)'
)


def with_embeds(clean: str) -> str:
    return _ALONE.sub(_card, clean) if "<p><a href=" in clean else clean


def _card(found: re.Match[str]) -> str:
    address = unescape(found[2])
    if unescape(found[3]).strip() != address or player_of(address) is None:
        return found[0]
    return CARD.made({"url": address}) or found[0]
