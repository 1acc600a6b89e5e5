"""Blocks below a line that opens them: `<details>`, which needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from masthead.content.cards.card import Block, Card, Imported, Platform, Values, Whole
from masthead.content.cards.elements import Parts, plain, root
from masthead.content.cards.platforms import block_comment, blocks_of, inline_text, markup_of
from masthead.content.cards.values import filled, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import Token


def read(given: Mapping[str, Any]) -> Values:
    return filled(summary=text_in(given, "summary"))


def opening(card: Values) -> str:
    return f"{root('toggle', 'details')}<summary>{plain(card.get('summary', ''))}</summary>"


def head(tokens: Sequence[Token]) -> int:
    if len(tokens) < 3 or tokens[1][:2] != ("start", "summary"):
        return 1
    return 3 if tokens[2][:2] == ("end", "summary") else 4


def parse(parts: Parts) -> Values:
    return {"summary": parts.text("summary")}


def markdown(card: Values, inside: str, _: Whole) -> str:
    summary = escaped_text(card.get("summary", ""))
    return "\n\n".join(filter(None, (summary and f"**{summary}**", inside)))


def ghost(card: Values, inside: str) -> str:
    return (
        '<div class="kg-card kg-toggle-card" data-kg-toggle-state="close">'
        '<div class="kg-toggle-heading"><h4 class="kg-toggle-heading-text">'
        f"{plain(card.get('summary', ''))}</h4></div>"
        f'<div class="kg-toggle-content">{inside}</div></div>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    summary, inside = inline_text(card, "heading"), blocks_of(markup_of(card, "content"))
    return Imported({"summary": summary}, inside) if summary or inside else None


def wordpress(card: Values, inside: str) -> str:
    summary = f"<summary>{plain(card.get('summary', ''))}</summary>"
    details = f'<details class="wp-block-details">{summary}{inside}</details>'
    return block_comment("details", {}, details)


def from_wordpress(block: Block) -> Imported | None:
    start, end = block.html.find("</summary>"), block.html.rfind("</details>")
    if not 0 <= start < end:
        return None
    inside = block.html[start + len("</summary>") : end].strip()
    return Imported({"summary": block.parts.text("summary")}, blocks_of(inside))


CARD: Final = Card(
    name="toggle",
    tag="details",
    read=read,
    opening=opening,
    parse=parse,
    head=head,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("toggle",)),
    wordpress=Platform(wordpress, from_wordpress, ("details",)),
)
