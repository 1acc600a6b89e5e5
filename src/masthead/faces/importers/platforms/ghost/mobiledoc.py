"""Renders Mobiledoc 0.3, the document format of Ghost's editor from 1.x to 4.x, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from masthead.faces.importers.platforms.ghost.cards import attribute, render_card

MAX_LENGTH: Final = 5_000_000
"""Characters of HTML. A file may refer to the same card any number of times."""
_QUOTE: Final = ("<blockquote><p>", "</p></blockquote>")
_SECTIONS: Final = {
    **{tag: (f"<{tag}>", f"</{tag}>") for tag in ("h1", "h2", "h3", "h4", "h5", "h6")},
    **dict.fromkeys(("blockquote", "aside", "pull-quote"), _QUOTE),
}
_MARKUPS: Final = frozenset(
    {"a", "b", "strong", "i", "em", "u", "s", "del", "code", "mark", "sub", "sup"}
)


def render_mobiledoc(document: object) -> tuple[str, frozenset[str]]:
    """The HTML, and the names of unknown cards. Raises ValueError for other JSON."""
    if not isinstance(document, dict) or not isinstance(document.get("sections"), list):
        raise ValueError("no sections")
    if not str(document.get("version", "")).startswith("0.3"):
        raise ValueError("another version")
    return _Renderer(document).render(document["sections"])


class _Renderer:
    def __init__(self, document: dict[str, Any]) -> None:
        self._atoms = _list(document.get("atoms"))
        self._cards = _list(document.get("cards"))
        self._markups = [_tags(each) for each in _list(document.get("markups"))]
        self._unknown: set[str] = set()
        self._left = MAX_LENGTH

    def render(self, sections: list[Any]) -> tuple[str, frozenset[str]]:
        html = "".join(self._section(each) for each in sections if isinstance(each, list) and each)
        return html, frozenset(self._unknown)

    def _section(self, section: list[Any]) -> str:
        match section:
            case [1, str(tag), list(markers), *_]:
                inside = self._markers(markers)
                start, end = _SECTIONS.get(tag.lower(), ("<p>", "</p>"))
                return f"{start}{inside}{end}" if inside else ""
            case [2, str(source), *_]:
                return f'<p><img{attribute("src", source)} alt=""></p>'
            case [3, str(tag), list(items), *_]:
                tag = "ol" if tag.lower() == "ol" else "ul"
                inside = "".join(f"<li>{self._markers(_list(item))}</li>" for item in items)
                return f"<{tag}>{inside}</{tag}>"
            case [10, int(index), *_]:
                return self._card(_at(self._cards, index))
        return ""

    def _card(self, card: object) -> str:
        if not isinstance(card, list) or not card or not isinstance(card[0], str):
            return ""
        payload = card[1] if len(card) > 1 and isinstance(card[1], dict) else {}
        html = render_card(card[0], payload)
        if html is None:
            self._unknown.add(card[0][:40])
        return self._within_limit(html or "")

    def _within_limit(self, html: str) -> str:
        self._left -= len(html)
        if self._left < 0:
            raise ValueError("more text than a post can have")
        return html

    def _markers(self, markers: list[Any]) -> str:
        """Each marker opens tags, has text and closes some of the open tags."""
        done: list[str] = []
        closing: list[str] = []
        for marker in markers:
            match marker:
                case [int(kind), list(opened), int(closed), value, *_]:
                    for index in opened:
                        start, end = _at(self._markups, index) or ("", "")
                        done.append(self._within_limit(start))
                        closing.append(end)
                    done.append(self._atom(value) if kind == 1 else _plain(value))
                    done += [closing.pop() for _ in range(min(closed, len(closing)))]
        return "".join(done + closing[::-1])

    def _atom(self, index: object) -> str:
        atom = _at(self._atoms, index)
        if not isinstance(atom, list) or not atom:
            return ""
        if atom[0] == "soft-return":
            return "<br>"
        return self._within_limit(_plain(atom[1])) if len(atom) > 1 else ""


def _tags(markup: object) -> tuple[str, str]:
    match markup:
        case [str(tag), *rest] if tag.lower() in _MARKUPS:
            tag = tag.lower()
            pairs = _list(rest[0]) if rest and tag == "a" else []
            named = dict(zip(pairs[0::2], pairs[1::2], strict=False)) if _all_text(pairs) else {}
            written = "".join(attribute(name, named.get(name)) for name in ("href", "title", "rel"))
            return f"<{tag}{written}>", f"</{tag}>"
    return "", ""


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _plain(value: object) -> str:
    return escape(value, quote=False) if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Sequence[Any], index: object) -> Any:
    if not isinstance(index, int) or not 0 <= index < len(values):
        return None
    return values[index]
