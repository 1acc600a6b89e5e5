"""The body of a post as HTML: what WordPress makes of it when a page is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from masthead.importers.wordpress.attachments import Attachments
from masthead.importers.wordpress.blocks import has_blocks, segments, with_reusable
from masthead.importers.wordpress.paragraphs import linked_addresses, paragraphs
from masthead.importers.wordpress.pieces import Aside, set_raw_aside, without_comments
from masthead.importers.wordpress.shortcodes import (
    Surroundings,
    set_code_aside,
    set_shortcodes_aside,
)

_MOST_NAMED: Final = 5
_NO_BLOCKS: Final[Mapping[int, str]] = MappingProxyType({})
# Those of several books; what one text takes of time and memory has to end somewhere.
_MOST_PIECES: Final = 100_000


def to_html(
    content: str,
    attachments: Attachments,
    post_id: int | None,
    reusable: Mapping[int, str] = _NO_BLOCKS,
) -> tuple[str, tuple[str, ...]]:
    """The HTML, not sanitized, and what there is to say about it."""
    around = Surroundings(attachments, post_id, Aside())
    text = with_reusable(content, reusable).replace("\r\n", "\n").replace("\r", "\n")
    if text.count("<") + text.count("\n") > _MOST_PIECES:
        return text, ("has more tags and lines than any text and was left as it is",)
    text = set_raw_aside(set_code_aside(text, around), around.aside)
    text = set_shortcodes_aside(text, around)
    html = _from_blocks(text, around) if has_blocks(text) else paragraphs(without_comments(text))
    return around.aside.restored(linked_addresses(html)).strip(), tuple(around.warnings)


def _from_blocks(text: str, around: Surroundings) -> str:
    left_out: list[str] = []
    done: list[str] = []
    for segment in segments(text, left_out):
        if segment.html:
            done.append(paragraphs(segment.html) if segment.is_classic else segment.html)
    if left_out:
        names = ", ".join(sorted(set(left_out))[:_MOST_NAMED])
        around.warn(f"left out blocks that have no content of their own: {names}")
    return "\n".join(done)
