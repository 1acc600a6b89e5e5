"""Prepares a post of an export for storing: safe HTML, the editor's document where that loses
nothing, and the pictures to copy. Pure functions, so that a process pool can run them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import unescape
from typing import Any, Final

from msgspec import Struct
from msgspec.json import encode

from masthead.base.html_tags import CAREFUL_INSIDE
from masthead.content.cards.embed import CARD
from masthead.content.cards.providers import player_of
from masthead.content.html.markup import (
    Token,
    background_of,
    cleaned,
    escaped,
    tokens_of,
    with_background,
)
from masthead.content.html.srcset import parse_srcset, widest, write_srcset
from masthead.content.texts.from_html import to_document
from masthead.faces.importers.convert.image_urls import (
    ImageRef,
    find_pictures,
    has_image_extension,
    host_of,
    original_of,
)
from masthead.faces.importers.convert.picture_shapes import with_shapes
from masthead.faces.importers.source import SourcePost

LARGE = 200_000
"""Characters of HTML. The document of a shorter text always fits."""
MAX_DOCUMENT = 1_800_000
"""Bytes; a tenth less than the limit of the field, because the new addresses of pictures may be
longer. Repeated here, so that the processes which prepare posts need not load the fields."""


class Prepared(Struct, frozen=True):
    """A post of an export whose pictures are not copied yet."""

    source_id: str
    html: str
    content_json: dict[str, Any] | None
    why_html_only: str
    """The parts that the editor can't represent; '' if it can open the post, or there is no
    text."""
    images: tuple[ImageRef, ...]
    """The images of the text, and the featured image."""
    mentioned: tuple[str, ...] = ()
    """The addresses of players and links, which are copied if the export has the files."""


def prepare(post: SourcePost, site_url: str) -> Prepared:
    """`site_url` is the base of relative addresses; '' if unknown."""
    clean, tokens = cleaned(with_shapes(post.html))
    html = with_embeds(clean)
    if html != clean:
        tokens = tokens_of(html)
    original = partial(original_of, site_url=site_url)
    document, reason = to_document(tokens, original) if tokens else (None, "")
    if document is not None and len(html) > LARGE and len(encode(document)) > MAX_DOCUMENT:
        document, reason = None, "a document of more than 2 MB"
    urls = [post.featured_image] if post.featured_image else []
    shown, mentioned = _addresses(tokens)
    urls += [*shown, *_full_sizes(mentioned, shown, site_url)]
    images = find_pictures(urls, site_url, post.source_id)
    return Prepared(post.source_id, html, document, reason, tuple(images), tuple(mentioned))


def _addresses(tokens: Sequence[Token]) -> tuple[list[str], list[str]]:
    """The addresses of pictures, and those of players and links."""
    shown: list[str] = []
    mentioned: list[str] = []
    for kind, name, attributes in tokens:
        if kind != "start" or not attributes:
            continue
        if name == "img":
            shown.append(attributes["src"])
        elif name == "a" and "href" in attributes:
            mentioned.append(attributes["href"])
        elif name in _PLAYERS and "src" in attributes:
            mentioned.append(attributes["src"])
        if name == "video" and "poster" in attributes:
            shown.append(attributes["poster"])
        if "srcset" in attributes:
            shown += [url for url, _ in parse_srcset(attributes["srcset"])]
        if "style" in attributes and (url := background_of(attributes["style"])):
            shown.append(url)
    return shown, mentioned


_PLAYERS = frozenset({"audio", "video", "source", "track"})


def _full_sizes(linked: Sequence[str], shown: Sequence[str], site_url: str) -> Iterator[str]:
    """Links to pictures of this blog. Links to other sites are not copied."""
    originals = {original_of(url, site_url) for url in shown} if linked else set()
    hosts = {host_of(original) for original in originals} | {host_of(site_url)}
    for url in linked:
        original = original_of(url, site_url)
        is_own = original in originals or host_of(original) in hosts
        if original and is_own and has_image_extension(original):
            yield url


def rewrite(
    html: str, content_json: dict[str, Any] | None, mapping: Mapping[str, str]
) -> tuple[str, dict[str, Any] | None]:
    """Replaces addresses in the HTML and in the document. `mapping` has the old addresses as
    written in the post; the HTML may have been edited since it was imported."""
    if not mapping:
        return html, content_json
    html = _TAG.sub(lambda tag: _rewritten_tag(tag[0], mapping), html)
    document: dict[str, Any] | None = _rewritten_json(content_json, mapping)
    return html, document


_TAG = re.compile(rf"<[a-z][a-z0-9]*\s{CAREFUL_INSIDE}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""(?<=\s)(src|srcset|href|poster|style)(\s*+=\s*+)("[^"]*+"|'[^']*+'|[^\s"'>]++)""",
    re.IGNORECASE,
)


def _rewritten_tag(tag: str, mapping: Mapping[str, str]) -> str:
    def change(attribute: re.Match[str]) -> str:
        raw = attribute[3]
        old = unescape(raw[1:-1] if raw[0] in "\"'" else raw)
        new = _CHANGES[attribute[1].lower()](old, mapping)
        return attribute[0] if new == old else f'{attribute[1]}{attribute[2]}"{escaped(new)}"'

    return _ATTRIBUTE.sub(change, tag)


def _new_address(old: str, mapping: Mapping[str, str]) -> str:
    return mapping.get(old) or mapping.get(old.strip(), old)


def _new_srcset(old: str, mapping: Mapping[str, str]) -> str:
    """All sizes of a picture have the same new address, which is listed once."""
    candidates = parse_srcset(old)
    if not any(url in mapping for url, _ in candidates):
        return old
    return write_srcset(widest((mapping.get(url, url), size) for url, size in candidates))


def _new_style(old: str, mapping: Mapping[str, str]) -> str:
    url = background_of(old)
    return with_background(old, mapping[url]) if url in mapping else old


_CHANGES: dict[str, Callable[[str, Mapping[str, str]], str]] = {
    "src": _new_address,
    "href": _new_address,
    "poster": _new_address,
    "srcset": _new_srcset,
    "style": _new_style,
}


def _rewritten_json(value: Any, mapping: Mapping[str, str]) -> Any:
    """A copy with new addresses in the `attrs` of all nodes and marks."""
    if isinstance(value, list):
        return [_rewritten_json(each, mapping) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {
        key: _rewritten_json(each, mapping) if isinstance(each, dict | list) else each
        for key, each in value.items()
    }
    attributes = changed.get("attrs")
    if isinstance(attributes, dict):
        changed["attrs"] = _with_new_addresses(attributes, mapping)
    return changed


def _with_new_addresses(value: Any, mapping: Mapping[str, str]) -> Any:
    """The attributes of a node, which may hold lists, as the pictures of a gallery."""
    if isinstance(value, str):
        return mapping.get(value, value)
    if isinstance(value, list):
        return [_with_new_addresses(each, mapping) for each in value]
    if isinstance(value, dict):
        return {key: _with_new_addresses(each, mapping) for key, each in value.items()}
    return value


_ALONE: Final = re.compile(
    r'(<figure>)?<p><a href="([^"]{1,2000})"[^<>]*>([^<>]{1,2000})</a></p>(?(1)</figure>)'
)


def with_embeds(clean: str) -> str:
    """With cards of the players: a paragraph that holds nothing but the address of one, as frames
    become when they are cleaned."""
    return _ALONE.sub(_card, clean) if "<p><a href=" in clean else clean


def _card(found: re.Match[str]) -> str:
    address = unescape(found[2])
    if unescape(found[3]).strip() != address or player_of(address) is None:
        return found[0]
    return CARD.made({"url": address}) or found[0]
