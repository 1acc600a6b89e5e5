"""Endpoints under `/api/v1` that need no key: the API's description and its reference page."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import msgspec

from masthead.base.config.settings import Settings
from masthead.web.answers import Answer, RawHeaders, encode
from masthead.web.dispatch import Route, reading
from masthead.web.etags import is_unchanged
from masthead.web.openapi.public_api import build_document
from masthead.web.openapi.reference_page import render_reference
from masthead.web.policy import FOR_ALL
from masthead.web.request import Request
from masthead.web.style_sheets import joined_file
from masthead.web.v1.routes import PREFIX
from masthead.web.v1.routes import Route as Declared

DOCUMENT = f"{PREFIX}/openapi.json"
REFERENCE = f"{PREFIX}/docs"
_ASSETS = {"style": f"{REFERENCE}/reference.css", "script": f"{REFERENCE}/reference.js"}

_STATIC = Path(__file__).parent.parent / "static"
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def description_routes(table: Iterable[Declared], settings: Settings) -> list[Route]:
    """Mount these before the API itself, which handles all other paths."""

    def document() -> bytes:
        return encode(build_document(table, settings))

    policy = [(b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"no-referrer")]
    page = StaticResponse(lambda: _reference(document()), "text/html; charset=utf-8", policy)
    style = StaticResponse(
        lambda: joined_file(_STATIC / "reference.css"), "text/css; charset=utf-8"
    )
    script = StaticResponse((_STATIC / "reference.js").read_bytes, "text/javascript; charset=utf-8")
    return [
        StaticResponse(document, "application/json").at(DOCUMENT),
        page.at(REFERENCE),
        style.at(_ASSETS["style"]),
        script.at(_ASSETS["script"]),
    ]


@lru_cache(maxsize=2)
def _reference(document: bytes) -> bytes:
    return render_reference(msgspec.json.decode(document), {**_ASSETS, "document": DOCUMENT})


class StaticResponse:
    """A response that stays the same as long as the process runs. `make` is called for the first
    request, in a thread: a document takes some hundredths of a second."""

    def __init__(
        self,
        make: Callable[[], bytes],
        content_type: str,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        self._make = make
        self._made: tuple[bytes, bytes] | None = None
        self._type = (b"content-type", content_type.encode())
        self._headers: RawHeaders = [
            (b"cache-control", b"public, no-cache"),
            (b"x-content-type-options", b"nosniff"),
            *headers,
        ]

    def at(self, path: str) -> Route:
        return Route(path, reading(self.answer, FOR_ALL))

    async def answer(self, request: Request) -> Answer:
        if self._made is None:
            body = await asyncio.to_thread(self._make)
            self._made = body, b'"%s"' % hashlib.sha256(body).hexdigest()[:16].encode()
        body, tag = self._made
        headers = [(b"etag", tag), *self._headers]
        if is_unchanged(request.header(b"if-none-match"), tag):
            return Answer(304, headers=headers)
        return Answer(200, body, [self._type, *headers])
