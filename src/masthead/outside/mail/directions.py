"""Styles of emails in the direction of their text. Mail programs know few logical properties, so
those of our templates become physical ones when an email is drawn."""

from __future__ import annotations

import re

_LOGICAL = re.compile(
    r"\b(border|margin|padding)-inline-(start|end)\b|(?<=text-align: )(start|end)\b"
)


def with_directions(html: str, direction: str) -> str:
    """`padding-inline-start` as `padding-left`, or `padding-right` from right to left."""
    sides = ("right", "left") if direction == "rtl" else ("left", "right")

    def physical(match: re.Match[str]) -> str:
        kind, side, alignment = match.groups()
        shown = sides[0] if (side or alignment) == "start" else sides[1]
        return f"{kind}-{shown}" if kind else shown

    return _LOGICAL.sub(physical, html)
