"""Cleans the HTML file of a Substack post of Substack's widgets and wrappers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from lxml.html import HtmlElement

from masthead.base.languages.words import staff_marked
from masthead.content.html.foreign_html import flattened
from masthead.faces.importers.convert.fragments import inner_html, parsed, replace
from masthead.faces.importers.platforms.substack.embeds import NATIVE, replacement

LEFT_OUT: Final = staff_marked("A recording that only Substack has was left out.")
_MAX_DATA: Final = 200_000
_ALLOWED_ATTRIBUTES: Final = frozenset(
    {"href", "src", "alt", "title", "width", "height", "id", "start", "colspan", "rowspan"}
    | {"controls", "poster", "lang", "dir", "datetime", "data-card", "data-size"}
)
_BLOCKS: Final = frozenset(
    {"p", "div", "figure", "blockquote", "ul", "ol", "table", "pre", "hr", "details", "section"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "aside"}
)


def cleaned(html: str, number: str = "", slug: str = "") -> tuple[str, list[str]]:
    """The HTML, and warnings about lost content. The number and slug of the post make the ids of
    its footnotes unique."""
    # Some steps take the square of the depth.
    html = flattened(html)
    root = parsed(html)
    if root is None:
        return html, []
    warnings = _replace_embeds(root)
    _keep_one_image(root)
    _drop_attributes(root)
    _pair_footnotes(root, number, slug)
    _drop_wrappers(root)
    return inner_html(root).strip(), warnings


def _replace_embeds(root: HtmlElement) -> list[str]:
    """The outermost first, with everything inside."""
    warnings: list[str] = []
    replaced: set[HtmlElement] = set()
    for element in root.xpath(".//*[@class]"):
        if element.getparent() in replaced:
            replaced.add(element)
            continue
        new = replacement(element, _data(element))
        if new is not None:
            replaced.update(element.iter())
            warnings += [LEFT_OUT] if NATIVE & set(element.get("class").split()) else []
            replace(element, new)
    return list(dict.fromkeys(warnings))


def _data(element: HtmlElement) -> Mapping[str, Any]:
    given = element.get("data-attrs")
    if given is None and element.tag == "a":
        image = element.find(".//img")
        given = None if image is None else image.get("data-attrs")
    try:
        data = json.loads(given) if given and len(given) <= _MAX_DATA else None
    except (ValueError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {}


def _keep_one_image(root: HtmlElement) -> None:
    """Keeps one of the many sizes of a picture: the `src`, which every browser supports."""
    for source in root.xpath(".//picture/source"):
        source.drop_tree()
    for picture in root.xpath(".//picture"):
        picture.drop_tag()
    for image in root.xpath(".//img[not(@src)]"):
        image.drop_tree()


def _drop_attributes(root: HtmlElement) -> None:
    for element in root.iterdescendants():
        is_paywall = element.tag == "hr" and element.get("class") == "paywall"
        allowed = _ALLOWED_ATTRIBUTES | {"class"} if is_paywall else _ALLOWED_ATTRIBUTES
        for name in set(element.attrib) - allowed:
            del element.attrib[name]


def _pair_footnotes(root: HtmlElement, number: str, slug: str) -> None:
    """Substack numbers the notes of each post from 1, but a page may show several posts."""
    own_address = re.compile(rf"(?:https?://[^/?#]+)?/p/{re.escape(slug)}/?(?:\?[^#]*)?(?=#)")
    for element in root.iterdescendants():
        if _FOOTNOTE.fullmatch(element.get("id", "")):
            element.set("id", _numbered(element.get("id"), number))
        href = element.get("href", "")
        target = own_address.sub("", href, count=1) if slug else href
        if target[:1] == "#" and _FOOTNOTE.fullmatch(target[1:]):
            element.set("href", "#" + _numbered(target[1:], number))


def _numbered(anchor: str, number: str) -> str:
    return anchor if not number or anchor.endswith(f"-{number}") else f"{anchor}-{number}"


_FOOTNOTE: Final = re.compile(r"footnote-(?:anchor-)?[\w-]{1,50}")


def _drop_wrappers(root: HtmlElement) -> None:
    for element in list(root.iterdescendants("span")):
        if not element.attrib:
            element.drop_tag()
    for element in list(root.iterdescendants("div")):
        if element.attrib:
            continue
        if _is_text(element):
            element.tag = "p"
        else:
            element.drop_tag()


def _is_text(element: HtmlElement) -> bool:
    """A `div` with text and without blocks, which should be a paragraph."""
    if any(child.tag in _BLOCKS for child in element):
        return False
    return bool(str(element.text_content()).strip()) and element.getparent().tag not in _TEXT_BLOCKS


_TEXT_BLOCKS: Final = frozenset({"p", "a", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "li"})
