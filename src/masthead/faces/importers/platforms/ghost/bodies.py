"""The HTML of a Ghost post: rendered by Ghost, or rendered here from the editor's document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

from masthead.base.languages.words import staff_marked, staff_words
from masthead.content.cards.html import OWN_MARK
from masthead.faces.importers.files.decoding import storable
from masthead.faces.importers.platforms.ghost.card_html import simplified
from masthead.faces.importers.platforms.ghost.cards import render_card
from masthead.faces.importers.platforms.ghost.lexical import render_lexical
from masthead.faces.importers.platforms.ghost.markdown import render_markdown
from masthead.faces.importers.platforms.ghost.mobiledoc import render_mobiledoc
from masthead.faces.importers.source import PAYWALL

ADDRESS: Final = "__GHOST_URL__"
NO_ADDRESS: Final = staff_marked(
    "The old site's address is not in the export, so links to it were made relative; "
    "give that address (--site-url) to fetch the images."
)
UNREADABLE: Final = staff_marked(
    "The editor's document can't be read; the plain text was taken instead."
)
_OWN_HTML: Final = re.compile(
    rf"<!-{{2}}kg-card-begin: html-->({re.escape(OWN_MARK)}(?:(?!<!-{{2}}kg-card-).)*+)"
    r"<!-{2}kg-card-end: html-->",
    re.DOTALL,
)
_CARD_COMMENTS: Final = re.compile(r"<!--\s*kg-card-(?:begin|end):[^<>]{0,60}\s*-->")
_MEMBERS_ONLY: Final = re.compile(r"<!--\s*members-only\s*-->")
_BLANK_LINES: Final = re.compile(r"\n\s*\n")

Render = Callable[[object], tuple[str, frozenset[str]]]


class Unreadable(Exception):
    """A document that can't be rendered; the next field is tried."""


def body_of(row: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The HTML, and warnings about lost content."""
    warnings: list[str] = []
    for name, render in _RENDERERS.items():
        given = row.get(name)
        if not isinstance(given, str) or not given.strip():
            continue
        try:
            return render(storable(given), warnings), warnings
        except Unreadable:
            warnings = [UNREADABLE]
    return "", warnings


def at_address(text: str, site_url: str) -> str:
    """Replaces the placeholder for the site's address; without an address, by a path."""
    if ADDRESS not in text:
        return text
    return text.replace(f"{ADDRESS}/", f"{site_url}/").replace(ADDRESS, site_url or "/")


def _of_html(html: str, _: list[str]) -> str:
    html = _OWN_HTML.sub(_own_html, html)
    return simplified(_MEMBERS_ONLY.sub(PAYWALL, _CARD_COMMENTS.sub("", html))).strip()


def _own_html(found: re.Match[str]) -> str:
    return render_card("html", {"html": found[1]}) or ""


def _of_document(render: Render) -> Callable[[str, list[str]], str]:
    def rendered(text: str, warnings: list[str]) -> str:
        try:
            html, unknown = render(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise Unreadable from error
        warnings += _about(unknown)
        return storable(html)

    return rendered


def _about(unknown: frozenset[str]) -> Iterator[str]:
    for name in sorted(unknown)[:10]:
        yield (
            staff_words("A card of an unknown kind was left out: %(name)s.", name=name)
            if name
            else staff_words("A card of an unknown kind was left out.")
        )


def _of_markdown(text: str, _: list[str]) -> str:
    return render_markdown(text)


def _of_plain_text(text: str, _: list[str]) -> str:
    paragraphs = (each.strip() for each in _BLANK_LINES.split(text))
    return "".join(
        f"<p>{escape(each, quote=False).replace(chr(10), '<br>')}</p>"
        for each in paragraphs
        if each
    )


# By column, the most reliable first.
_RENDERERS: Final[Mapping[str, Callable[[str, list[str]], str]]] = {
    "html": _of_html,
    "lexical": _of_document(render_lexical),
    "mobiledoc": _of_document(render_mobiledoc),
    "markdown": _of_markdown,
    "plaintext": _of_plain_text,
}
