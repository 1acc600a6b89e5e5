"""The style sheet of a site's accent colour, at an address that names the colour."""

from __future__ import annotations

import re

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from masthead.errors import NotFound
from masthead.reader.accent import style_sheet
from masthead.web.answers import send_bytes
from masthead.web.assets import IMMUTABLE, PREFIX

_NAME = re.compile(r"accent-([0-9a-f]{6})\.css", re.ASCII)


def accent_url(color: str) -> str:
    """Empty for a site that keeps the theme's own."""
    return f"{PREFIX}site/accent-{color[1:].lower()}.css" if color else ""


def accent_routes() -> list[Route]:
    return [Route(PREFIX + "site/{name}", _Endpoint(), include_in_schema=False)]


class _Endpoint:
    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        found = _NAME.fullmatch(scope["path_params"]["name"])
        if found is None or scope["method"] not in ("GET", "HEAD"):
            raise NotFound
        body = style_sheet(f"#{found[1]}").encode() if scope["method"] == "GET" else b""
        headers = [
            (b"content-type", b"text/css; charset=utf-8"),
            (b"cache-control", IMMUTABLE),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send_bytes(send, 200, body, headers)
