"""The widths and crops of pictures, which Ghost and WordPress write as classes and styles that no
page of ours has."""

from __future__ import annotations

import re
from typing import Final

from masthead.base.html_tags import CAREFUL_INSIDE
from masthead.content.html.card_attributes import CROPS

_FIGURE: Final = re.compile(rf"<figure(?=\s)({CAREFUL_INSIDE})>", re.IGNORECASE)
_WIDE: Final = re.compile(r"\bclass\s{0,9}=[^<>]{0,300}?\b(?:kg-width-|align)(wide|full)\b", re.I)
_PICTURE: Final = re.compile(
    rf"\s{{0,99}}(?:<a{CAREFUL_INSIDE}>\s{{0,99}})?<img{CAREFUL_INSIDE}>", re.IGNORECASE
)
_RATIO: Final = re.compile(
    r"\bstyle\s{0,9}=[^<>]{0,300}?\baspect-ratio\s{0,9}:\s{0,9}(\d{1,2})(?:\s{0,9}/\s{0,9}(\d{1,2}))?",
    re.IGNORECASE,
)


def with_shapes(html: str) -> str:
    """HTML with `data-width` and `data-crop` where a figure has another platform's form of them."""
    if "<figure" not in html:
        return html
    return _FIGURE.sub(_shaped, html)


def _shaped(figure: re.Match[str]) -> str:
    inside, shape = figure[1], ""
    if "data-width" not in inside and (width := _WIDE.search(inside)):
        shape += f' data-width="{width[1].lower()}"'
    picture = _PICTURE.match(figure.string, figure.end())
    if "data-crop" not in inside and picture and (ratio := _RATIO.search(picture[0])):
        crop = f"{ratio[1]}:{ratio[2] or 1}"
        shape += f' data-crop="{crop}"' if crop in CROPS else ""
    return f"{figure[0][:-1]}{shape}>" if shape else figure[0]
