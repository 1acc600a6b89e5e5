"""Renders the shortcodes of WordPress itself as HTML: galleries, captions, embeds, players, code.

Numbers of files are looked up in the media library of the export. A shortcode of a plugin, or one
whose files are not in the export, stays in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape, unescape
from typing import Final

import msgspec

from masthead.base.languages.words import staff_marked
from masthead.content.cards.gallery import galleries
from masthead.engine.records.fields.text import is_web_address
from masthead.faces.importers.platforms.wordpress.attachments import (
    Attachment,
    Attachments,
    as_number,
)
from masthead.faces.importers.platforms.wordpress.pieces import Piece, Placeholders, pieces_of

_CODE: Final = "sourcecode|code"
_OTHERS: Final = "gallery|caption|wp_caption|embed|audio|video|playlist"
# As in WordPress, without brackets inside.
_OPENING: Final = {
    names: re.compile(rf"\[(\[?)({names})(?![\w-])([^\[\]]*+)\](\]?)") for names in (_CODE, _OTHERS)
}
_ATTRIBUTE: Final = re.compile(
    r"""([\w-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))|"([^"]*+)"|'([^']*+)'|([^\s"']++)"""
)
_LONGEST_INSIDE: Final = {"sourcecode": 500_000, "code": 500_000}
_LONGEST_CAPTION: Final = 20_000
# A short shortcode may render to long HTML.
_MAX_SHORTCODES: Final = 2_000
_MAX_FILES: Final = 2_000
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)
_ENCLOSING: Final = frozenset({"caption", "wp_caption", "embed", "sourcecode", "code"})
_FORMATS: Final = {
    "audio": ("src", "mp3", "m4a", "ogg", "oga", "wav", "wma", "flac"),
    "video": ("src", "mp4", "m4v", "webm", "ogv", "mov", "flv", "wmv"),
}


class Shortcode(msgspec.Struct, frozen=True):
    name: str
    attributes: dict[str, str]
    values: tuple[str, ...]
    """Values without a name: `[audio https://…]`."""
    inside: str


class Context(msgspec.Struct):
    """The post of the shortcodes, the media library, and warnings."""

    attachments: Attachments
    post_id: int | None
    placeholders: Placeholders
    warnings: list[str] = msgspec.field(default_factory=list)
    shortcodes_left: int = _MAX_SHORTCODES
    files_left: int = _MAX_FILES

    def warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def replace_code(text: str, context: Context) -> str:
    """Before all others, because shortcodes inside of code are not rendered."""
    return _replace(text, _CODE, context)


def replace_shortcodes(text: str, context: Context) -> str:
    return _replace(text, _OTHERS, context)


def _replace(text: str, names: str, context: Context) -> str:
    if "[" not in text:
        return text
    done: list[str] = []
    position = 0
    endings = _Endings(text)
    while context.shortcodes_left and (opening := _OPENING[names].search(text, position)):
        context.shortcodes_left -= 1
        done.append(text[position : opening.start()])
        html, position = _handle(text, opening, endings, context)
        done.append(html)
    done.append(text[position:])
    return "".join(done)


def _handle(
    text: str, opening: re.Match[str], endings: _Endings, context: Context
) -> tuple[str, int]:
    """The placeholder of a shortcode, and the offset of the text after it."""
    if opening[1] and opening[4]:
        # Double brackets escape a shortcode.
        return context.placeholders.add(opening[0][1:-1], is_block=False), opening.end()
    start = opening.end() - len(opening[4])
    name = opening[2]
    inside, end = endings.inside(name, start)
    if opening[1] and text.startswith("]", end):
        return context.placeholders.add(text[opening.start() + 1 : end], is_block=False), end + 1
    attributes, values = _attributes(opening[3])
    html = _HANDLERS[name](Shortcode(name, attributes, values, inside or ""), context)
    if html is None:
        return text[opening.start() : start], start
    return opening[1] + context.placeholders.add(html, is_block=True), end


class _Endings:
    """Finds closing shortcodes; searches each part of the text once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: dict[str, int] = {}

    def inside(self, name: str, start: int) -> tuple[str | None, int]:
        closing = f"[/{name}]"
        if name not in _ENCLOSING:
            # These have no content, so the text after them belongs to the post.
            end = start + len(closing) if self._text.startswith(closing, start) else start
            return None, end
        if self._next.get(name, -1) < start:
            found = self._text.find(closing, start)
            self._next[name] = found if found >= 0 else len(self._text)
        end = self._next[name]
        longest = _LONGEST_INSIDE.get(name, _LONGEST_CAPTION)
        if end == len(self._text) or end - start > longest:
            return None, start
        return self._text[start:end], end + len(closing)


def _attributes(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    named: dict[str, str] = {}
    values: list[str] = []
    for found in _ATTRIBUTE.finditer(unescape(text[:10_000]).replace("”", '"').replace("″", '"')):
        if found[1]:
            value = found[2] or found[3] or found[4] or ""
            named.setdefault(found[1].lower(), value.strip())
        else:
            values.append((found[5] or found[6] or found[7] or "").strip())
    return named, tuple(values)


def _gallery(code: Shortcode, context: Context) -> str | None:
    listed = code.attributes.get("ids") or code.attributes.get("include")
    if listed:
        numbers: Sequence[int | None] = _numbers(listed)
    else:
        numbers = context.attachments.pictures_of(
            as_number(code.attributes.get("id", "")) or context.post_id or 0
        )
    pictures = _found(
        numbers, staff_marked("a gallery names images that the export does not have"), context
    )
    captions = (each.caption for each in pictures if each.caption)
    images = [{"src": each.url, "alt": each.alt} for each in pictures]
    return galleries(images, " · ".join(captions)) or None


def _numbers(listed: str) -> list[int | None]:
    return [as_number(each) for each in listed.split(",")]


def _found(numbers: Sequence[int | None], warning: str, context: Context) -> list[Attachment]:
    numbers = numbers[: context.files_left]
    context.files_left -= len(numbers)
    found = [each for number in numbers if (each := context.attachments.get(number))]
    if not found or len(found) < len(numbers):
        context.warn(warning)
    return found


def _caption(code: Shortcode, _: Context) -> str | None:
    if "[caption" in code.inside or "[wp_caption" in code.inside:
        return None
    pieces = list(pieces_of(code.inside))
    picture = next((at for at, piece in enumerate(pieces) if piece.tag == "img"), None)
    if picture is None:
        return None
    begin, end = _with_link(pieces, picture)
    image = "".join(piece.text for piece in pieces[begin:end])
    rest = [piece.text for at, piece in enumerate(pieces) if not begin <= at < end]
    caption = "".join(rest).strip() or code.attributes.get("caption", "")
    caption = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{image}{caption}</figure>"


def _with_link(pieces: list[Piece], picture: int) -> tuple[int, int]:
    """An image with the link around it, if there is one."""
    before, after = picture - 1, picture + 1
    while before >= 0 and not pieces[before].tag and not pieces[before].text.strip():
        before -= 1
    while after < len(pieces) and not pieces[after].tag and not pieces[after].text.strip():
        after += 1
    if before < 0 or after >= len(pieces):
        return picture, picture + 1
    is_linked = pieces[before].tag == "a" and pieces[after].tag == "a" and pieces[after].is_end
    return (before, after + 1) if is_linked else (picture, picture + 1)


def _embed(code: Shortcode, _: Context) -> str | None:
    address = unescape(code.inside.strip() or code.attributes.get("src", ""))
    if not address.startswith(("http://", "https://")) or not is_web_address(address):
        return None
    return f"<p>{_link(address)}</p>"


def _player(code: Shortcode, _: Context) -> str | None:
    named = [code.attributes.get(name, "") for name in _FORMATS[code.name]]
    # Before WordPress 3.6 a plugin allowed several addresses, separated by `|`.
    addresses = [each.partition("|")[0] for each in (*named, *code.values)]
    address = next((each for each in addresses if is_web_address(each)), None)
    if address is None:
        return None
    return _player_of(code.name, address, address)


def _player_of(name: str, address: str, text: str) -> str:
    source = escape(address)
    return f'<figure><{name} controls src="{source}">{_link(address, text)}</{name}></figure>'


def _playlist(code: Shortcode, context: Context) -> str | None:
    kind = "video" if code.attributes.get("type") == "video" else "audio"
    numbers = _numbers(code.attributes.get("ids", ""))
    tracks = _found(
        numbers, staff_marked("a playlist names files that the export does not have"), context
    )
    return "\n".join(_player_of(kind, each.url, each.title or each.url) for each in tracks) or None


def _source_code(code: Shortcode, _: Context) -> str | None:
    if not code.inside:
        return None
    language = code.attributes.get("language") or code.attributes.get("lang") or ""
    shown = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
    text = unescape(code.inside).strip("\n")
    return f"<pre><code{shown}>{escape(text, quote=False)}</code></pre>"


def _link(address: str, text: str = "") -> str:
    return f'<a href="{escape(address)}">{escape(text or address, quote=False)}</a>'


_HANDLERS: Final[dict[str, Callable[[Shortcode, Context], str | None]]] = {
    "gallery": _gallery,
    "caption": _caption,
    "wp_caption": _caption,
    "embed": _embed,
    "audio": _player,
    "video": _player,
    "playlist": _playlist,
    "sourcecode": _source_code,
    "code": _source_code,
}
