"""Renders the body of a post as WordPress does for a page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from masthead.base.languages.words import staff_marked, staff_words
from masthead.faces.importers.platforms.wordpress.attachments import Attachments
from masthead.faces.importers.platforms.wordpress.blocks import has_blocks, segments, with_reusable
from masthead.faces.importers.platforms.wordpress.card_blocks import with_cards
from masthead.faces.importers.platforms.wordpress.paragraphs import linked_addresses, paragraphs
from masthead.faces.importers.platforms.wordpress.pieces import (
    Placeholders,
    replace_raw_elements,
    without_comments,
)
from masthead.faces.importers.platforms.wordpress.shortcodes import (
    Context,
    replace_code,
    replace_shortcodes,
)

_MAX_NAMES: Final = 5
_NO_BLOCKS: Final[Mapping[int, str]] = MappingProxyType({})
# As many as several books have.
_MAX_PIECES: Final = 100_000


def to_html(
    content: str,
    attachments: Attachments,
    post_id: int | None,
    reusable: Mapping[int, str] = _NO_BLOCKS,
) -> tuple[str, tuple[str, ...]]:
    """The HTML, not sanitized, and warnings."""
    context = Context(attachments, post_id, Placeholders())
    text = with_reusable(content, reusable).replace("\r\n", "\n").replace("\r", "\n")
    if text.count("<") + text.count("\n") > _MAX_PIECES:
        return text, (staff_marked("has too many tags and lines and was not changed"),)
    text = with_cards(text, context.placeholders)
    text = replace_raw_elements(replace_code(text, context), context.placeholders)
    text = replace_shortcodes(text, context)
    html = _from_blocks(text, context) if has_blocks(text) else paragraphs(without_comments(text))
    return context.placeholders.restored(linked_addresses(html)).strip(), tuple(context.warnings)


def _from_blocks(text: str, context: Context) -> str:
    left_out: list[str] = []
    done: list[str] = []
    for segment in segments(text, left_out):
        html = paragraphs(segment.html) if segment.is_classic else segment.html
        done += [segment.before, html, segment.after] if html else [segment.before]
    if left_out:
        names = ", ".join(sorted(set(left_out))[:_MAX_NAMES])
        context.warn(staff_words("left out blocks without content: %(names)s", names=names))
    return "".join(done)
