"""WordPress's own shortcodes as HTML: galleries, captions, embeds, players and code.

What they name by number is looked up in the export's media library. A shortcode of a plugin, or
one whose files are not in the export, stays where it is, as text that the author will see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Final

from masthead.importers.wordpress.attachments import Attachment, Attachments, as_number
from masthead.importers.wordpress.pieces import Aside, Piece, pieces_of
from masthead.records.fields.text import is_web_address

_CODE: Final = "sourcecode|code"
_OTHERS: Final = "gallery|caption|wp_caption|embed|audio|video|playlist"
# As in WordPress, no bracket stands inside of one.
_OPENING: Final = {
    names: re.compile(rf"\[(\[?)({names})(?![\w-])([^\[\]]*+)\](\]?)") for names in (_CODE, _OTHERS)
}
_ATTRIBUTE: Final = re.compile(
    r"""([\w-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))|"([^"]*+)"|'([^']*+)'|([^\s"']++)"""
)
_LONGEST_INSIDE: Final = {"sourcecode": 500_000, "code": 500_000}
_LONGEST_CAPTION: Final = 20_000
# A shortcode is short, and what it stands for may be long.
_MOST_SHORTCODES: Final = 2_000
_MOST_FILES: Final = 2_000
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)
_ENCLOSING: Final = frozenset({"caption", "wp_caption", "embed", "sourcecode", "code"})
_FORMATS: Final = {
    "audio": ("src", "mp3", "m4a", "ogg", "oga", "wav", "wma", "flac"),
    "video": ("src", "mp4", "m4v", "webm", "ogv", "mov", "flv", "wmv"),
}


@dataclass(frozen=True, slots=True)
class Shortcode:
    name: str
    attributes: dict[str, str]
    values: tuple[str, ...]
    """What has no name: `[audio https://…]`."""
    inside: str


@dataclass(slots=True)
class Surroundings:
    """Where the shortcodes stand: the media library, the post, and what to tell about it."""

    attachments: Attachments
    post_id: int | None
    aside: Aside
    warnings: list[str] = field(default_factory=list)
    shortcodes_left: int = _MOST_SHORTCODES
    files_left: int = _MOST_FILES

    def warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def set_code_aside(text: str, around: Surroundings) -> str:
    """First of all: what is in them is meant to be read, not to be obeyed."""
    return _replace(text, _CODE, around)


def set_shortcodes_aside(text: str, around: Surroundings) -> str:
    return _replace(text, _OTHERS, around)


def _replace(text: str, names: str, around: Surroundings) -> str:
    if "[" not in text:
        return text
    done: list[str] = []
    position = 0
    endings = _Endings(text)
    while around.shortcodes_left and (opening := _OPENING[names].search(text, position)):
        around.shortcodes_left -= 1
        done.append(text[position : opening.start()])
        html, position = _handle(text, opening, endings, around)
        done.append(html)
    done.append(text[position:])
    return "".join(done)


def _handle(
    text: str, opening: re.Match[str], endings: _Endings, around: Surroundings
) -> tuple[str, int]:
    """What stands instead of a shortcode, and where the text goes on."""
    if opening[1] and opening[4]:
        # Doubled brackets are how an author writes about a shortcode.
        return around.aside.put(opening[0][1:-1], is_block=False), opening.end()
    start = opening.end() - len(opening[4])
    name = opening[2]
    inside, end = endings.inside(name, start)
    if opening[1] and text.startswith("]", end):
        return around.aside.put(text[opening.start() + 1 : end], is_block=False), end + 1
    attributes, values = _attributes(opening[3])
    html = _HANDLERS[name](Shortcode(name, attributes, values, inside or ""), around)
    if html is None:
        return text[opening.start() : start], start
    return opening[1] + around.aside.put(html, is_block=True), end


class _Endings:
    """Finds closing shortcodes; each is searched for once, however many openings there are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: dict[str, int] = {}

    def inside(self, name: str, start: int) -> tuple[str | None, int]:
        closing = f"[/{name}]"
        if name not in _ENCLOSING:
            # Nobody writes anything between these, so whatever stands there belongs to the text.
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


def _gallery(code: Shortcode, around: Surroundings) -> str | None:
    listed = code.attributes.get("ids") or code.attributes.get("include")
    if listed:
        numbers: Sequence[int | None] = _numbers(listed)
    else:
        numbers = around.attachments.pictures_of(
            as_number(code.attributes.get("id", "")) or around.post_id or 0
        )
    pictures = _found(numbers, "a gallery names images", around)
    return "\n".join(_figure(each) for each in pictures) or None


def _numbers(listed: str) -> list[int | None]:
    return [as_number(each) for each in listed.split(",")]


def _found(numbers: Sequence[int | None], what: str, around: Surroundings) -> list[Attachment]:
    numbers = numbers[: around.files_left]
    around.files_left -= len(numbers)
    found = [each for number in numbers if (each := around.attachments.get(number))]
    if not found or len(found) < len(numbers):
        around.warn(f"{what} that the export does not have")
    return found


def _figure(picture: Attachment) -> str:
    text = escape(picture.caption, quote=False)
    caption = f"<figcaption>{text}</figcaption>" if text else ""
    shown = f'<img src="{escape(picture.url)}" alt="{escape(picture.alt)}" />'
    return f"<figure>{shown}{caption}</figure>"


def _caption(code: Shortcode, _: Surroundings) -> str | None:
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
    """The pieces of an image, with the link around it if there is one."""
    before, after = picture - 1, picture + 1
    while before >= 0 and not pieces[before].tag and not pieces[before].text.strip():
        before -= 1
    while after < len(pieces) and not pieces[after].tag and not pieces[after].text.strip():
        after += 1
    if before < 0 or after >= len(pieces):
        return picture, picture + 1
    is_linked = pieces[before].tag == "a" and pieces[after].tag == "a" and pieces[after].is_end
    return (before, after + 1) if is_linked else (picture, picture + 1)


def _embed(code: Shortcode, _: Surroundings) -> str | None:
    address = unescape(code.inside.strip() or code.attributes.get("src", ""))
    if not address.startswith(("http://", "https://")) or not is_web_address(address):
        return None
    return f"<p>{_link(address)}</p>"


def _player(code: Shortcode, _: Surroundings) -> str | None:
    named = [code.attributes.get(name, "") for name in _FORMATS[code.name]]
    # Before WordPress 3.6 a plugin took several addresses, parted by `|`.
    addresses = [each.partition("|")[0] for each in (*named, *code.values)]
    address = next((each for each in addresses if is_web_address(each)), None)
    if address is None:
        return None
    return _player_of(code.name, address, address)


def _player_of(name: str, address: str, text: str) -> str:
    source = escape(address)
    return f'<figure><{name} controls src="{source}">{_link(address, text)}</{name}></figure>'


def _playlist(code: Shortcode, around: Surroundings) -> str | None:
    kind = "video" if code.attributes.get("type") == "video" else "audio"
    numbers = _numbers(code.attributes.get("ids", ""))
    tracks = _found(numbers, "a playlist names files", around)
    return "\n".join(_player_of(kind, each.url, each.title or each.url) for each in tracks) or None


def _source_code(code: Shortcode, _: Surroundings) -> str | None:
    if not code.inside:
        return None
    language = code.attributes.get("language") or code.attributes.get("lang") or ""
    shown = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
    text = unescape(code.inside).strip("\n")
    return f"<pre><code{shown}>{escape(text, quote=False)}</code></pre>"


def _link(address: str, text: str = "") -> str:
    return f'<a href="{escape(address)}">{escape(text or address, quote=False)}</a>'


_HANDLERS: Final[dict[str, Callable[[Shortcode, Surroundings], str | None]]] = {
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
