"""Removes block comments, but not the content of blocks. Dynamic blocks have no content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, NamedTuple

import msgspec

from masthead.engine.records.fields.text import is_web_address
from masthead.faces.importers.platforms.wordpress.pieces import BLOCKS_ONLY, comments_of

DELIMITER: Final = re.compile(r"\s*+(/?)wp:([a-z][a-z0-9_-]*+(?:/[a-z][a-z0-9_-]*+)?)(?=[\s/{]|\Z)")
_MAX_ATTRIBUTES: Final = 20_000
_NEAR: Final = 3_000
_REUSED: Final = re.compile(r'<!-- wp:block \{"ref":([0-9]{1,18})[^<>]{0,200}\} /-->')
_MAX_REUSED: Final = 500_000


class Segment(NamedTuple):
    html: str
    is_classic: bool
    """Outside of blocks, or in a block of the classic editor: needs paragraphs."""
    before: str = ""
    after: str = ""
    """The line breaks between it and the blocks beside it."""


def has_blocks(content: str) -> bool:
    return "<!-- wp:" in content


def with_reusable(content: str, reusable: Mapping[int, str]) -> str:
    """Inserts reusable blocks where a post refers to them. Reusable blocks inside of them are left
    out, like all blocks without content."""
    if not reusable or "<!-- wp:block " not in content:
        return content
    left = _MAX_REUSED

    def block(found: re.Match[str]) -> str:
        nonlocal left
        inside = reusable.get(int(found[1]))
        if inside is None or len(inside) > left:
            return found[0]
        left -= len(inside)
        return inside

    return _REUSED.sub(block, content)


def segments(content: str, left_out: list[str]) -> Iterator[Segment]:
    """The top-level blocks, without comments."""
    open_blocks: list[str] = []
    parts: list[str] = []
    position = 0
    for comment in comments_of(content):
        parts.append(content[position : comment.start])
        position = comment.end
        delimiter = DELIMITER.match(comment.inside)
        if delimiter is None:
            continue
        is_end, name = delimiter.groups()
        name = name.removeprefix("core/")
        if is_end:
            # An end without a start is ignored.
            if open_blocks and open_blocks[-1] == name:
                if len(open_blocks) == 1:
                    yield _segment(parts, open_blocks)
                open_blocks.pop()
        elif comment.inside.endswith("/"):
            left_out.append(name)
        else:
            if not open_blocks:
                yield _segment(parts, open_blocks)
            open_blocks.append(name)
            if name == "cover":
                parts.append(_background(comment.inside[delimiter.end() :], content, position))
    parts.append(content[position:])
    yield _segment(parts, open_blocks)


def _segment(parts: list[str], open_blocks: list[str]) -> Segment:
    html = "".join(parts)
    parts.clear()
    inside = html.strip()
    if not open_blocks and (not inside or BLOCKS_ONLY.fullmatch(inside)):
        before = "\n" if html[:1].isspace() else ""
        after = "\n" if inside and html[-1:].isspace() else ""
        return Segment(inside, is_classic=False, before=before, after=after)
    is_classic = not open_blocks or open_blocks == ["freeform"]
    apart = "" if open_blocks else "\n"
    return Segment(inside, is_classic, before=apart, after=apart)


def _background(attributes: str, content: str, position: int) -> str:
    """The background picture of a cover. Older ones have it in a style only, which the sanitizer
    removes."""
    url = decoded(attributes).get("url")
    if not isinstance(url, str) or not is_web_address(url):
        return ""
    source = f'src="{escape(url)}"'
    if content.find(source, position, position + _NEAR) >= 0:
        return ""
    return f'<figure><img {source} alt="" /></figure>'


def decoded(attributes: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(attributes[:_MAX_ATTRIBUTES].strip() or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
