"""The samples as a site, over a real socket: each at its name, with the real policy and assets; in
another theme at `/<theme>/<name>`."""

from __future__ import annotations

import contextlib
import io
from collections.abc import AsyncIterator
from pathlib import Path

from PIL import Image
from tests.faces.reader.samples import PAGES
from tests.faces.reader.themed import themed
from tests.served import serving
from tests.web.routed import everywhere, routed

from masthead.base.errors import NotFound
from masthead.faces.reader.themes import Themes
from masthead.web.answers import Answer
from masthead.web.asgi import Receive, Scope, Send
from masthead.web.assets import assets_routes, content_policy
from masthead.web.request import Request


class SampleSite:
    def __init__(self, pictures: Path | None = None) -> None:
        self.themes = Themes(None)
        self.pages = dict(PAGES)
        self.origin = ""
        self._pictures = pictures
        self._app = routed(assets_routes(*self.themes.assets.values()), everywhere(self.answer))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def answer(self, request: Request) -> Answer:
        path = request.path.lstrip("/")
        if path.startswith("pictures/"):
            return Answer(200, self._picture(path), [(b"content-type", b"image/webp")])
        theme, slash, name = path.partition("/")
        if (name if slash else path) not in self.pages:
            raise NotFound
        template, chrome, page = themed(theme, name) if slash else self.pages[path]
        body = self.themes.render(theme if slash else "plain", template, chrome, page).encode()
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", content_policy(self.origin).encode()),
        ]
        return Answer(200, body, headers)

    def _picture(self, path: str) -> bytes:
        if self._pictures is not None:
            return (self._pictures / path.removeprefix("pictures/")).read_bytes()
        return any_picture()


def any_picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (1080, 720), (90, 120, 130)).save(file, "webp")
    return file.getvalue()


@contextlib.asynccontextmanager
async def running(site: SampleSite) -> AsyncIterator[str]:
    """Its origin, as long as it runs."""
    async with serving(site) as site.origin:
        yield site.origin
