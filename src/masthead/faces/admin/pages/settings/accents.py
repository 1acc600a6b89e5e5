"""A colour of links as the site shows it, in light and in dark."""

from __future__ import annotations

import re

import msgspec

from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import decimal
from masthead.faces.admin.pages.settings.subnav import DESIGN
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.accent import DARK_GROUNDS, LIGHT_GROUNDS, NEEDED, contrast, readable

_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")


class Accent(msgspec.Struct, frozen=True):
    """A colour as pages show it."""

    ground: str
    """light or dark."""
    paper: str
    color: str
    ratio: str
    """The contrast with the ground where it is weakest."""
    was: str
    """The same of the colour that was chosen, where that is too weak."""


async def accent_sample(request: AdminRequest) -> Answer:
    """While a colour is typed."""
    if not request.is_fragment:
        return Redirect(DESIGN)
    values = {"accents": accents_of(request.query.get("accent_color", "").strip())}
    return Page("settings/_accent.html", words("Colour"), values, fragment="settings/_accent.html")


def accents_of(color: str) -> list[Accent]:
    """How the site shows a colour in light and in dark; nothing for a text that is none."""
    if not _COLOUR.fullmatch(color):
        return []
    grounds = (("light", LIGHT_GROUNDS), ("dark", DARK_GROUNDS))
    return [
        _accent(ground, papers, color, shown)
        for (ground, papers), shown in zip(grounds, readable(color), strict=True)
    ]


def _accent(ground: str, papers: tuple[str, ...], color: str, shown: str) -> Accent:
    weakest = min(contrast(color, paper) for paper in papers)
    ratio = min(contrast(shown, paper) for paper in papers)
    was = decimal(weakest) if weakest < NEEDED else ""
    return Accent(ground, papers[0], shown, decimal(ratio), was)
