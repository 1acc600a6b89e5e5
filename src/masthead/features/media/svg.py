"""Cleans uploaded SVG files, which may contain scripts.

Scripts, event handlers, foreign content and references to other hosts are removed; a file that
can't be cleaned is refused. The functions block, so the service runs them in an `ImagePool`.
"""

from __future__ import annotations

import re
from typing import BinaryIO
from xml.parsers import expat

from py_svg_hush import filter_svg

from masthead.base.languages.words import staff_marked

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64
MAX_ELEMENTS = 200_000

_NAMESPACE = b'xmlns="http://www.w3.org/2000/svg"'
_EMBEDDED = {"image": ["png", "jpeg", "gif", "webp"]}
"""Allowed embedded pictures: formats without scripts."""
_ROOT = re.compile(rb"<svg\b[^>]*>")
_ATTRIBUTE = re.compile(rb'\b(width|height|viewBox)="([^"]*)"')
_LENGTH = re.compile(r"\s*([0-9]{1,7}(?:\.[0-9]{0,9})?)(px|pt|pc|mm|cm|in)?\s*")
_NUMBER = re.compile(r"[0-9]{1,7}(?:\.[0-9]{0,9})?")
_PIXELS = {None: 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 960 / 25.4}
_PIXELS["in"] = 96.0


class UnsafeSvg(Exception):
    """An SVG that can't be cleaned; the message for the client says why."""


def clean_svg(file: BinaryIO) -> bytes:
    """The picture without scripts and external references. Raises UnsafeSvg."""
    file.seek(0)
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        said = staff_marked("An SVG may have at most %(number)s bytes.")
        raise UnsafeSvg(said % {"number": f"{MAX_BYTES:,}"})
    _check_limits(data)
    try:
        cleaned = filter_svg(data, _EMBEDDED)
    except ValueError as error:
        raise UnsafeSvg(_BROKEN) from error
    root = _ROOT.search(cleaned)
    # The cleaner loses a namespace with a prefix, and no browser would render the result.
    if root is None or _NAMESPACE not in root[0]:
        raise UnsafeSvg(
            staff_marked("The SVG's root element needs the namespace http://www.w3.org/2000/svg.")
        )
    return cleaned


def svg_size(cleaned: bytes) -> tuple[int, int] | None:
    """Width and height in pixels, from the root's attributes or its view box."""
    root = _ROOT.search(cleaned)
    found = dict(_ATTRIBUTE.findall(root[0])) if root else {}
    text = {name.decode(): value.decode("utf-8", "replace") for name, value in found.items()}
    width, height = _pixels(text.get("width", "")), _pixels(text.get("height", ""))
    box = _view_box(text.get("viewBox", ""))
    if box:
        # A missing side is derived from the view box, as in browsers.
        width = width or (height * box[0] / box[1] if height else box[0])
        height = height or width * box[1] / box[0]
    if not width or not height:
        return None
    return max(1, round(width)), max(1, round(height))


_BROKEN = staff_marked(
    "The SVG is not well-formed, so it can't be made safe. Save it again from a drawing tool."
)


def _check_limits(data: bytes) -> None:
    """Limits depth and elements, because the cleaner indents each element by its depth. expat
    refuses nested entity expansion itself."""
    depth = elements = 0

    def enter(_name: str, _attributes: object) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > MAX_DEPTH or elements > MAX_ELEMENTS:
            said = staff_marked(
                "An SVG may hold %(number)s elements, nested at most %(depth)s deep."
            )
            raise UnsafeSvg(said % {"number": f"{MAX_ELEMENTS:,}", "depth": MAX_DEPTH})

    def leave(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler = enter
    parser.EndElementHandler = leave
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnsafeSvg(_BROKEN) from error


def _pixels(text: str) -> float:
    match = _LENGTH.fullmatch(text)
    return float(match[1]) * _PIXELS[match[2]] if match else 0.0


def _view_box(text: str) -> tuple[float, float] | None:
    parts = re.split(r"[\s,]+", text.strip()[:200])
    if len(parts) != 4 or not all(_NUMBER.fullmatch(part) for part in parts[2:]):
        return None
    width, height = float(parts[2]), float(parts[3])
    return (width, height) if width and height else None
