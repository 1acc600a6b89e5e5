"""Prepares HTML of others for the sanitizer: players become links, lazy images get their address,
and HTML that would take the sanitizer minutes is cut."""

from __future__ import annotations

import re
from collections import Counter
from html import escape, unescape

from masthead.base.html_tags import CAREFUL_INSIDE
from masthead.content.html.effort import MAX_TAGS

MAX_DEPTH = 100
"""As deep as the editor's documents. Deeper tags are removed, without their text: the time of the
sanitizer grows with the square of the depth."""


def presanitized(html: str) -> str:
    lower = html.lower()
    if any(part in lower for part in _REPLACED):
        html = _IMAGE.sub(_unlazy, html)
        html = _PLAYER.sub(_link, html)
        html = _without_noscript(html)
    return html


_REPLACED = ("<iframe", "<embed", "<noscript", "data-src", "data-lazy-src", "data-original")


def flattened(html: str) -> str:
    """For texts that were written elsewhere, and are taken rather than refused."""
    html = _storable(html)
    if html.count("<") > MAX_DEPTH:
        html = _flattened(html)
    if html.count("<") > MAX_TAGS:
        html = without_tags(html)
    return html


def without_tags(html: str) -> str:
    return _TAG.sub(" ", html)


def _storable(html: str) -> str:
    """Without characters that a database can't store: NUL and single surrogates."""
    html = html.replace("\0", "") if "\0" in html else html
    try:
        html.encode()
    except UnicodeEncodeError:
        return html.encode("utf-8", "replace").decode()
    return html


_TAG = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*)(?=[\s/>]){CAREFUL_INSIDE}>")
_OPTIONAL_END = "p li dt dd tr td th thead tbody tfoot colgroup option rp rt"
_VOID = "area base br col embed hr img input link meta param source track wbr"
_UNCOUNTED = frozenset(f"{_OPTIONAL_END} {_VOID}".split())


def _flattened(html: str) -> str:
    if _depth(html) <= MAX_DEPTH:
        return html
    depth, kept, dropped = 0, Counter[str](), Counter[str]()

    def count(tag: re.Match[str]) -> str:
        nonlocal depth
        name = tag[2].lower()
        if name in _UNCOUNTED:
            return tag[0]
        if not tag[1]:
            is_kept = depth < MAX_DEPTH
            depth += is_kept
            (kept if is_kept else dropped)[name] += 1
            return tag[0] if is_kept else ""
        if dropped[name]:
            dropped[name] -= 1
            return ""
        if kept[name]:
            kept[name] -= 1
            depth -= 1
        return tag[0]

    return _TAG.sub(count, html)


def _depth(html: str) -> int:
    """An upper bound: an end tag without a start tag is ignored."""
    depth = deepest = 0
    unclosed = Counter[str]()
    for slash, name in _NAMES.findall(html):
        name = name.lower()
        if name in _UNCOUNTED:
            continue
        if not slash:
            unclosed[name] += 1
            depth += 1
            deepest = max(deepest, depth)
        elif unclosed[name]:
            unclosed[name] -= 1
            depth -= 1
    return deepest


_NAMES = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")

_IMAGE = re.compile(rf"<img(?=[\s/]){CAREFUL_INSIDE}>", re.IGNORECASE)
_PLAYER = re.compile(rf"<(?:iframe|embed)(?=[\s/]){CAREFUL_INSIDE}>", re.IGNORECASE)


def _value(tag: str, names: str) -> str:
    """The value of an attribute, with its quotes."""
    found = re.search(
        rf"""\s(?:{names})\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", tag, flags=re.IGNORECASE
    )
    return found[1] if found else ""


def _unlazy(image: re.Match[str]) -> str:
    """Themes with lazy loading have the address in another attribute."""
    tag = image[0]
    source = _value(tag, "src")
    if source and not source.lstrip("\"'").lower().startswith("data:"):
        return tag
    late = _value(tag, "data-src|data-lazy-src|data-original")
    sizes = _value(tag, "data-srcset|data-lazy-srcset")
    # Of two attributes with the same name, the first wins.
    first = (f" src={late}" if late else "") + (f" srcset={sizes}" if sizes else "")
    return f"<img{first} {tag[4:]}"


def _link(player: re.Match[str]) -> str:
    """Frames are not allowed: a player becomes a link."""
    source = unescape(_value(player[0], "src|data-src|data-lazy-src").strip("\"'")).strip()
    if source.startswith("//"):
        source = f"https:{source}"
    if not source.lower().startswith(("http://", "https://")):
        return ""
    address = escape(watch_address(source))
    return f'<p><a href="{address}">{address}</a></p>'


def watch_address(source: str) -> str:
    """The page of a video instead of its player, which works inside a frame only."""
    for pattern, page in _PLAYERS:
        if found := pattern.match(source):
            return page.format(found[1])
    return source


_PLAYERS = (
    (
        re.compile(
            r"https?://(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/([\w-]{6,20})", re.ASCII
        ),
        "https://www.youtube.com/watch?v={}",
    ),
    (re.compile(r"https?://player\.vimeo\.com/video/([0-9]+)"), "https://vimeo.com/{}"),
)


def _without_noscript(html: str) -> str:
    """Without the tags. The content stays, unless it is a second copy of a lazy picture."""
    pieces: list[str] = []
    lower, at = html.lower(), 0
    while (start := lower.find("<noscript", at)) >= 0:
        inside = lower.find(">", start) + 1
        end = lower.find("</noscript", inside)
        if not inside or end < 0:
            break
        pieces.append(html[at:start])
        if "<img" not in lower[inside:end]:
            pieces.append(html[inside:end])
        at = end + len("</noscript>")
    return "".join([*pieces, html[at:]])
