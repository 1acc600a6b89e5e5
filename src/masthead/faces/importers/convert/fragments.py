"""Parses fragments of HTML to trees, changes them and serializes them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_ELEMENTS: Final = 20_000
"""As many as the editor allows. The time of moving an element grows with its siblings."""
_DROPPED: Final = "ERR_RESOURCE_LIMIT"


def parsed(html: str) -> HtmlElement | None:
    """A `div` with the fragment; None where it is too large, or too deep for the parser."""
    # Imported here, because many exports do not need it.
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    # As bytes, because the parser refuses text with an encoding declaration.
    whole = f"<div>{html}</div>".encode("utf-8", "replace")
    body = document_fromstring(whole, parser=parser).find("body")
    if body is None or any(entry.type_name == _DROPPED for entry in parser.error_log):
        return None
    if sum(1 for _ in body.iter()) > MAX_ELEMENTS:
        return None
    if len(body) == 1 and body[0].tag == "div":
        return body[0]
    # An unmatched end tag has closed the `div`.
    body.tag = "div"
    return body


def inner_html(element: HtmlElement) -> str:
    from lxml.html import tostring

    children = (tostring(child, encoding="unicode") for child in element)
    return escape(element.text or "", quote=False) + "".join(children)


def replace(element: HtmlElement, html: str) -> None:
    """Replaces the element by other HTML. Its tail stays."""
    parent = element.getparent()
    new = parsed(html)
    if parent is None or new is None:
        return
    tail = element.tail or ""
    at = parent.index(element)
    element.tail = None
    parent.remove(element)
    _add_text(parent, at, new.text or "")
    children = list(new)
    for offset, child in enumerate(children):
        parent.insert(at + offset, child)
    _add_text(parent, at + len(children), tail)


def _add_text(parent: HtmlElement, at: int, text: str) -> None:
    """Before the child at that index: in lxml, text belongs to the node before it."""
    if not text:
        return
    if at:
        parent[at - 1].tail = (parent[at - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
