"""Serves a stored object with ranges and validators, and with headers that forbid scripts.

An upload may be anything, so every response forbids sniffing and scripts, and only types that can't
hold a script are shown inline; others are downloads. The headers are those of PocketBase.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Protocol
from urllib.parse import quote

from masthead.web.answers import header, header_lines, header_list
from masthead.web.asgi import Scope, Send

CACHE_FOR_A_MONTH = "max-age=2592000, stale-while-revalidate=86400"
CACHE_FOR_A_YEAR = "public, max-age=31536000, immutable"
"""For what never changes at its address."""
CACHE_PRIVATELY = "private, no-cache"
"""For files with restricted access: only the browser may cache them, and it must revalidate."""

CONTENT_SECURITY_POLICY = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

SAFE_INLINE = frozenset(
    {
        *("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"),
        *("image/x-icon", "video/mp4", "video/webm", "video/ogg", "video/quicktime"),
        *("audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/flac", "audio/aac"),
        *("audio/webm", "application/pdf"),
    }
)
"""Raster images, audio, video and PDF: none can run a script in our origin."""

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?charset=[\w-]+)?", re.ASCII)
_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*")
_MAX_NAME = 255
_MAX_DATE = 100


class Info(Protocol):
    @property
    def size(self) -> int: ...
    @property
    def last_modified(self) -> datetime: ...
    @property
    def etag(self) -> str | None: ...


class Content(Info, Protocol):
    """`chunks` gives the bytes from `start` to before `stop` of the whole `size`."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def chunks(self) -> AsyncIterator[bytes]: ...


class Store(Protocol):
    """The part of `storage.objects.ObjectStore` that this module needs."""

    async def head(self, key: str) -> Info: ...
    async def get(
        self, key: str, *, byte_range: tuple[int, int | None] | None = None
    ) -> Content: ...


async def serve_object(
    scope: Scope,
    send: Send,
    *,
    store: Store,
    key: str,
    filename: str,
    content_type: str,
    download: bool = False,
    cache_control: str = CACHE_FOR_A_MONTH,
    vary: str = "",
) -> None:
    """Answers a GET or HEAD of the object. Raises what the store raises, before anything is sent.

    `content_type` is the sniffed one; `download` forces a download.
    """
    described = {
        "content-type": content_type
        if _MEDIA_TYPE.fullmatch(content_type)
        else "application/octet-stream",
        "content-disposition": content_disposition(filename, content_type, download=download),
    }
    common = {
        "accept-ranges": "bytes",
        "cache-control": cache_control,
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "x-content-type-options": "nosniff",
    }
    if vary:
        common["vary"] = vary
    wanted: tuple[int, int] | None = None
    if scope["method"] == "HEAD" or _NEEDS_INFO & header_lines(scope).keys():
        info = await store.head(key)
        common |= _validators(info)
        if _is_unchanged(scope, info):
            await _send_head(send, 304, common)
            return
        if scope["method"] == "HEAD":
            await _send_head(send, 200, common | described | {"content-length": str(info.size)})
            return
        wanted = _wanted_range(scope, info)
        if wanted is not None and wanted[0] >= wanted[1]:
            outside = {"content-range": f"bytes */{info.size}", "content-length": "0"}
            await _send_head(send, 416, common | outside)
            return
    content = await store.get(key, byte_range=wanted)
    headers = common | described | _validators(content)
    headers["content-length"] = str(content.stop - content.start)
    if wanted is not None:
        headers["content-range"] = f"bytes {content.start}-{content.stop - 1}/{content.size}"
    await _send_content(send, 200 if wanted is None else 206, headers, content)


_NEEDS_INFO = {b"range", b"if-none-match", b"if-modified-since"}


def content_disposition(filename: str, content_type: str, *, download: bool) -> str:
    """The header's value (RFC 6266): inline for safe types only, without unsafe characters."""
    kind = "attachment" if download or not is_safe_inline(content_type) else "inline"
    name = "".join(c for c in filename if c.isprintable() and c not in '"\\/')[:_MAX_NAME]
    plain = name.encode("ascii", "replace").decode().replace("?", "_") or "file"
    if name.isascii():
        return f'{kind}; filename="{plain}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def is_safe_inline(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() in SAFE_INLINE


def _validators(info: Info) -> dict[str, str]:
    modified = format_datetime(info.last_modified.astimezone(UTC), usegmt=True)
    return {"last-modified": modified, "etag": _etag(info)}


def _etag(info: Info) -> str:
    # Stores differ in quoting theirs, and some have none.
    opaque = re.sub(r"[^\w.+:/=-]", "", info.etag or "", flags=re.ASCII)
    return f'"{opaque or f"{info.last_modified.timestamp():.0f}-{info.size}"}"'


def _is_unchanged(scope: Scope, info: Info) -> bool:
    if (known := header_list(scope, b"if-none-match")) is not None:
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return "*" in tags or _etag(info) in tags
    since = _date(header(scope, b"if-modified-since") or "")
    return since is not None and info.last_modified.replace(microsecond=0) <= since


def _wanted_range(scope: Scope, info: Info) -> tuple[int, int] | None:
    """The first byte and one past the last; None for the whole; an empty range can't be satisfied.

    Anything but a single well-formed range is ignored, which RFC 9110 allows.
    """
    match = _RANGE.fullmatch(header(scope, b"range") or "")
    if match is None or not _if_range_holds(scope, info):
        return None
    first, last = match[1], match[2]
    if not first and not last:
        return None
    if not first:
        return max(0, info.size - int(last)), info.size
    if last and int(last) < int(first):
        return None
    stop = min(int(last) + 1, info.size) if last else info.size
    return int(first), stop


def _if_range_holds(scope: Scope, info: Info) -> bool:
    condition = header(scope, b"if-range")
    if condition is None or condition.strip() == _etag(info):
        return True
    return _date(condition) == info.last_modified.replace(microsecond=0)


def _date(text: str) -> datetime | None:
    if len(text) > _MAX_DATE:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def _send_head(send: Send, status: int, headers: dict[str, str]) -> None:
    await _send_start(send, status, headers)
    await send({"type": "http.response.body", "body": b""})


async def _send_content(send: Send, status: int, headers: dict[str, str], content: Content) -> None:
    chunks = content.chunks
    try:
        await _send_start(send, status, headers)
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        # A disconnected client must not hold the store's connection until garbage collection.
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _send_start(send: Send, status: int, headers: dict[str, str]) -> None:
    raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
