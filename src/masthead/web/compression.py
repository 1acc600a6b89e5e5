"""Compresses responses with zstd or gzip, by the client's Accept-Encoding.

Only responses in one message and of compressible types are compressed: streams, files and encoded
responses pass through unchanged.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Callable
from functools import lru_cache

from masthead.base.byte_cache import ByteCache
from masthead.base.counters import CACHES
from masthead.web.answers import RawHeaders

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIN_BYTES = 1024
"""Below this the additional headers are larger than the gain."""
MAX_INLINE_BYTES = 64 * 1024
MAX_ACCEPT_BYTES = 1024
"""The length of Accept-Encoding: a longer one is no browser's, and would fill the memory of
choices."""

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


def is_compressible(status: int, headers: RawHeaders, body: bytes | None = None) -> bool:
    """Whether the bytes of the response depend on the client's Accept-Encoding; without a body,
    whether they may. A 304 says of what it stands for."""
    if status == 304:
        return True
    if status in (204, 206) or (body is not None and len(body) < MIN_BYTES):
        return False
    content_type = b""
    for name, value in headers:
        if name == b"content-type":
            content_type = value
        elif name == b"content-encoding" or (
            name == b"cache-control" and b"no-transform" in value.lower()
        ):
            return False
    return _is_compressible_type(content_type)


async def encode(
    accepted: bytes, status: int, headers: RawHeaders, body: bytes
) -> tuple[RawHeaders, bytes]:
    """Headers and body as the client accepts them, of a response that is compressible."""
    headers = [*headers, _VARY]
    encoding = chosen_encoding(accepted)
    if encoding is None or status == 304:
        return headers, body
    if len(body) > MAX_INLINE_BYTES:
        body = await asyncio.to_thread(ENCODINGS[encoding], body)
    else:
        body = _compressed(encoding, body)
    headers = [(name, _weak(value) if name == b"etag" else value) for name, value in headers]
    return [*headers, (b"content-encoding", encoding.encode())], body


def _compressed(encoding: str, body: bytes) -> bytes:
    """A cached response is sent many times and compressed once."""
    found = _cache.read((encoding, body))
    if found is None:
        found = ENCODINGS[encoding](body)
        _cache.put((encoding, body), found, len(body) + len(found))
    return found


_cache: ByteCache[tuple[str, bytes], bytes] = ByteCache(CACHES["compressed"])


@lru_cache(maxsize=256)
def _is_compressible_type(header: bytes) -> bool:
    content_type = header.partition(b";")[0].strip().lower()
    if content_type.startswith(b"text/"):
        # The messages of an event stream must not be delayed.
        return content_type != b"text/event-stream"
    return content_type in _TYPES or content_type.endswith(_SUFFIXES)


def _weak(tag: bytes) -> bytes:
    """A strong tag promises equal bytes; the compressed response has others."""
    return tag if tag.startswith(b"W/") else b"W/" + tag
