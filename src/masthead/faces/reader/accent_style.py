"""The style sheets of sites' accent colours, at addresses that name the colour.

An address is signed, so that there are only those of colours that sites have: making a colour
readable takes milliseconds.
"""

from __future__ import annotations

import re
from functools import lru_cache

from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.base.errors import NotFound
from masthead.features.site.accent import style_sheet
from masthead.web.answers import Answer
from masthead.web.assets import IMMUTABLE, PREFIX
from masthead.web.dispatch import Route, reading
from masthead.web.policy import FOR_ALL
from masthead.web.request import Request

_NAME = re.compile(r"accent-([0-9a-f]{3}|[0-9a-f]{6})-([0-9a-f]{16})\.css", re.ASCII)
_PURPOSE, _LENGTH = "accent-styles", 16


class AccentStyles:
    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    def url(self, color: str) -> str:
        """Empty for a site that keeps the theme's own."""
        if not color:
            return ""
        digits = color[1:].lower()
        mark = sign(self._keyring, _PURPOSE, digits, length=_LENGTH)
        return f"{PREFIX}site/accent-{digits}-{mark}.css"

    def routes(self) -> list[Route]:
        return [Route(PREFIX + "site/{name}", reading(self._answer, FOR_ALL))]

    async def _answer(self, request: Request) -> Answer:
        found = _NAME.fullmatch(request.path_parameters["name"])
        if found is None:
            raise NotFound
        if not is_signed(self._keyring, _PURPOSE, found[1], found[2], length=_LENGTH):
            raise NotFound
        headers = [
            (b"content-type", b"text/css; charset=utf-8"),
            (b"cache-control", IMMUTABLE),
            (b"x-content-type-options", b"nosniff"),
        ]
        return Answer(200, _style_sheet(f"#{found[1]}"), headers)


@lru_cache(maxsize=1_024)
def _style_sheet(colour: str) -> bytes:
    return style_sheet(colour).encode()
