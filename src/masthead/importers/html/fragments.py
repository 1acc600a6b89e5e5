"""Pieces of HTML as trees to change, and back."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_ELEMENTS: Final = 20_000
"""As many as the editor takes. Moving one costs a walk along those beside it."""
_DROPPED: Final = "ERR_RESOURCE_LIMIT"


def parsed(html: str) -> HtmlElement | None:
    """Everything below one `div`; None for what is too much, or too deep for the parser."""
    # Many an export has nothing to be changed, and a start takes longer for it.
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    # As bytes, because the parser refuses text that claims an encoding of its own.
    whole = f"<div>{html}</div>".encode("utf-8", "replace")
    body = document_fromstring(whole, parser=parser).find("body")
    if body is None or any(entry.type_name == _DROPPED for entry in parser.error_log):
        return None
    if sum(1 for _ in body.iter()) > MAX_ELEMENTS:
        return None
    if len(body) == 1 and body[0].tag == "div":
        return body[0]
    # A stray end tag closed ours.
    body.tag = "div"
    return body


def inner_html(element: HtmlElement) -> str:
    from lxml.html import tostring

    children = (tostring(child, encoding="unicode") for child in element)
    return escape(element.text or "", quote=False) + "".join(children)


def replace(element: HtmlElement, html: str) -> None:
    """Puts other HTML in its place; what follows the element stays."""
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
    """Before the child at that place: text belongs to what stands before it."""
    if not text:
        return
    if at:
        parent[at - 1].tail = (parent[at - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
