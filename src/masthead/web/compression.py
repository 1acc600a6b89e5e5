"""ASGI middleware that compresses responses with zstd or gzip, by the client's Accept-Encoding.

Only responses in one message and of compressible types are compressed: streams, files and encoded
responses pass through unchanged.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Awaitable, Callable
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masthead.web.answers import RawHeaders, header_lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIN_BYTES = 1024
"""Below this the additional headers are larger than the gain."""
MAX_INLINE_BYTES = 64 * 1024
CACHE_SIZE = 256
MAX_ACCEPT_BYTES = 1024
"""Of Accept-Encoding: what is longer is no browser's, and would fill the memory of choices."""

Compress = Callable[[bytes], bytes]


def _gzip(body: bytes) -> bytes:
    # Without a timestamp, so that equal responses have equal bytes.
    return gzip.compress(body, compresslevel=5, mtime=0)


def _zstd(body: bytes) -> bytes:
    return zstd.compress(body, level=3)


ENCODINGS: dict[str, Compress] = {"zstd": _zstd, "gzip": _gzip}
"""Supported encodings, the best first."""

_TYPES = frozenset(
    {
        b"application/javascript",
        b"application/json",
        b"application/manifest+json",
        b"application/xml",
        b"image/svg+xml",
    }
)
_SUFFIXES = (b"+json", b"+xml")
_VARY = (b"vary", b"Accept-Encoding")


class Compression:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = b",".join(header_lines(scope).get(b"accept-encoding", ()))
        await self._app(scope, receive, _Answer(send, chosen_encoding(accepted)).send)


def chosen_encoding(accepted: bytes) -> str | None:
    """The encoding with the highest weight in Accept-Encoding, the best among equals.

    `*` means gzip, which every client knows.
    """
    return _chosen(accepted) if len(accepted) <= MAX_ACCEPT_BYTES else None


@lru_cache(maxsize=512)
def _chosen(accepted: bytes) -> str | None:
    weights = dict(map(_weighted, accepted.decode("latin-1").lower().split(",")))
    if "x-gzip" in weights:
        weights.setdefault("gzip", weights["x-gzip"])
    if "*" in weights:
        weights.setdefault("gzip", weights["*"])
    offered = {name: weights.get(name, 0.0) for name in ENCODINGS}
    best = max(offered, key=lambda name: offered[name])
    is_preferred = offered[best] > 0 and offered[best] >= weights.get("identity", 0.0)
    return best if is_preferred else None


def _weighted(part: str) -> tuple[str, float]:
    name, _, parameters = part.partition(";")
    key, _, value = parameters.strip().partition("=")
    if key.strip() != "q":
        return name.strip(), 1.0
    try:
        return name.strip(), float(value)
    except ValueError:
        return name.strip(), 0.0


class _Answer:
    """Delays the response's start until the first body message shows whether it is the only one."""

    __slots__ = ("_encoding", "_send", "_start")

    def __init__(self, send: Send, encoding: str | None) -> None:
        self._send = send
        self._encoding = encoding
        self._start: Message | None = None

    def send(self, message: Message) -> Awaitable[None]:
        is_start = message["type"] == "http.response.start"
        if is_start or self._start is not None:
            return self._begin(message)
        # Returned without a coroutine of its own: a stream calls it many times a second.
        return self._send(message)

    async def _begin(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if _may_depend_on_encoding(message):
                self._start = message
                return
        elif self._start is not None:
            start, self._start = self._start, None
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                message = await self._compress(start, message)
            await self._send(start)
        await self._send(message)

    async def _compress(self, start: Message, message: Message) -> Message:
        """Completes the start's headers; returns the body for them."""
        body: bytes = message.get("body", b"")
        if start["status"] != 304 and len(body) < MIN_BYTES:
            return message
        start["headers"] = [*start["headers"], _VARY]
        if self._encoding is None or start["status"] == 304:
            return message
        if len(body) > MAX_INLINE_BYTES:
            body = await asyncio.to_thread(ENCODINGS[self._encoding], body)
        else:
            body = _compressed(self._encoding, body)
        start["headers"] = _encoded_headers(start["headers"], self._encoding, len(body))
        return {**message, "body": body}


@lru_cache(maxsize=CACHE_SIZE)
def _compressed(encoding: str, body: bytes) -> bytes:
    """A cached response is sent many times and compressed once."""
    return ENCODINGS[encoding](body)


def _may_depend_on_encoding(start: Message) -> bool:
    if start["status"] == 304:
        return True
    if start["status"] in (204, 206):
        return False
    content_type = b""
    for name, value in start["headers"]:
        if name == b"content-type":
            content_type = value.partition(b";")[0].strip().lower()
        elif name == b"content-encoding" or (
            name == b"cache-control" and b"no-transform" in value.lower()
        ):
            return False
    return _is_compressible(content_type)


def _is_compressible(content_type: bytes) -> bool:
    if content_type.startswith(b"text/"):
        # The messages of an event stream must not be delayed.
        return content_type != b"text/event-stream"
    return content_type in _TYPES or content_type.endswith(_SUFFIXES)


def _encoded_headers(headers: RawHeaders, encoding: str, length: int) -> RawHeaders:
    changed = [
        (name, _weak(value) if name == b"etag" else value)
        for name, value in headers
        if name != b"content-length"
    ]
    return [
        *changed,
        (b"content-encoding", encoding.encode()),
        (b"content-length", str(length).encode()),
    ]


def _weak(tag: bytes) -> bytes:
    """A strong tag promises equal bytes; the compressed response has others."""
    return tag if tag.startswith(b"W/") else b"W/" + tag
