"""Players and posts of other sites on a page: a card with a link."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.content.html.embeds import find_embed
from masthead.content.html.markup import Token, escaped, written


def embed_card(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """The card in place of the paragraph at `at`, and the index after it; None for any other
    paragraph."""
    found = find_embed(tokens, at)
    if found is None:
        return None
    embed, after = found
    card = (
        f'<p class="embed">{written("a", {"href": embed.address, "rel": "noopener"})}'
        f"<b>{escaped(embed.kind)}</b><span>{escaped(embed.where)}</span></a></p>"
    )
    return card, after
