"""The calls of `OutboundClient`, made with aiohttp, which is imported for the first of them."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
from yarl import URL

from masthead.base import clock
from masthead.base.languages.words import staff_marked
from masthead.outside.outbound.answers import Answer, Download
from masthead.outside.outbound.checked_lookup import CheckedLookup
from masthead.outside.outbound.connections import CheckedResolver, connector, new_session
from masthead.outside.outbound.errors import BadStatus, Kind, OutboundError
from masthead.outside.outbound.http_errors import translated_errors
from masthead.outside.outbound.retry_after import parse_retry_after
from masthead.outside.outbound.slots import HostSlots
from masthead.outside.outbound.targets import IMAGES, parse_url

MAX_REDIRECTS = 5
MAX_POOLED = 512
"""With more open sockets than this, new calls do not use the connection pool."""

_CHUNK = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class HttpCalls:
    """The connections and slots of one kind of call, so that one kind does not delay the other."""

    def __init__(
        self,
        names: CheckedLookup,
        tls: ssl.SSLContext,
        calls_per_host: int,
        connect_seconds: float,
    ) -> None:
        self._slots = HostSlots(calls_per_host)
        self._resolver = CheckedResolver(names)
        self._pooled, self._single = (
            new_session(connector(self._resolver, tls, keeps_alive=keeps_alive), connect_seconds)
            for keeps_alive in (True, False)
        )

    @property
    def _session(self) -> aiohttp.ClientSession:
        is_over_limit = self._resolver.open_sockets > MAX_POOLED
        return self._single if is_over_limit else self._pooled

    async def close(self) -> None:
        await self._pooled.close()
        await self._single.close()

    async def call(
        self,
        target: URL,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout_seconds: float,
        *,
        max_answer_bytes: int,
        share: str,
    ) -> Answer:
        """A POST with a body, a GET without one; without redirects. Waiting for a slot does not
        count as its time."""
        async with self._slots.slot(f"{share} {_host_key(target)}"):
            started = time.perf_counter()
            with translated_errors():
                async with asyncio.timeout(timeout_seconds):
                    status, start, retry_after = await self._call(
                        target, body, headers, max_answer_bytes
                    )
            duration_ms = round((time.perf_counter() - started) * 1000)
            return Answer(status, start, duration_ms, parse_retry_after(retry_after, clock.now()))

    @asynccontextmanager
    async def download(
        self, target: URL, *, max_bytes: int, accept: str, timeout_seconds: float
    ) -> AsyncIterator[Download]:
        """Follows redirects; each hop is checked like the first and has its own timeout."""
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        for _ in range(MAX_REDIRECTS + 1):
            async with self._get(target, headers, timeout_seconds) as (response, deadline):
                if response.status not in _REDIRECTS:
                    yield _download_of(response, max_bytes, deadline)
                    return
                target = _next_hop(target, response)
        raise OutboundError(Kind.PROTOCOL, staff_marked("The server redirects too often."))

    @asynccontextmanager
    async def _get(
        self, target: URL, headers: Mapping[str, str], timeout_seconds: float
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, float]]:
        """The response without its body, and the loop time at which the body must be complete."""
        async with self._slots.slot(_host_key(target)):
            deadline = asyncio.get_running_loop().time() + timeout_seconds
            trace = SimpleNamespace()
            with translated_errors():
                async with asyncio.timeout_at(deadline):
                    response = await self._session.get(
                        target, headers=headers, allow_redirects=False, trace_request_ctx=trace
                    )
            try:
                yield response, deadline
            finally:
                response.close()

    async def _call(
        self, target: URL, body: bytes | None, headers: Mapping[str, str], max_answer_bytes: int
    ) -> tuple[int, bytes, str | None]:
        trace = SimpleNamespace(is_reused=False)
        options = {
            "data": body,
            "headers": headers,
            "allow_redirects": False,
            "trace_request_ctx": trace,
        }
        try:
            return await self._answer(target, options, max_answer_bytes)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The receiver may have closed a pooled connection just before the request, which is
            # no failure. On a new connection it is.
            if not trace.is_reused:
                raise
        return await self._answer(target, options, max_answer_bytes)

    async def _answer(
        self, target: URL, options: dict[str, Any], max_answer_bytes: int
    ) -> tuple[int, bytes, str | None]:
        method = "GET" if options["data"] is None else "POST"
        async with self._session.request(method, target, **options) as response:
            start = await _start_of(response.content, max_answer_bytes)
            if not response.content.at_eof():
                response.close()
            return response.status, start, response.headers.get("Retry-After")


def _host_key(target: URL) -> str:
    return (target.raw_host or "").removesuffix(".")


async def _start_of(content: aiohttp.StreamReader, max_bytes: int) -> bytes:
    start = bytearray()
    while len(start) < max_bytes:
        chunk = await content.read(max_bytes - len(start))
        if not chunk:
            break
        start += chunk
    return bytes(start)


def _next_hop(target: URL, response: aiohttp.ClientResponse) -> URL:
    try:
        return parse_url(str(target.join(URL(response.headers["Location"]))), IMAGES)
    except (KeyError, ValueError):
        message = staff_marked("The server redirects to an invalid URL.")
        raise OutboundError(Kind.PROTOCOL, message) from None


def _download_of(response: aiohttp.ClientResponse, max_bytes: int, deadline: float) -> Download:
    if response.status != 200:
        retry_after = parse_retry_after(response.headers.get("Retry-After"), clock.now())
        raise BadStatus(response.status, retry_after)
    if (response.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)
    return Download(
        url=str(response.url),
        content_type=response.headers.get("Content-Type", ""),
        chunks=_chunks(response.content, max_bytes, deadline),
    )


async def _chunks(
    content: aiohttp.StreamReader, max_bytes: int, deadline: float
) -> AsyncIterator[bytes]:
    size = 0
    while chunk := await _next_chunk(content, deadline):
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(max_bytes)
        yield chunk


async def _next_chunk(content: aiohttp.StreamReader, deadline: float) -> bytes:
    with translated_errors():
        async with asyncio.timeout_at(deadline):
            return await content.read(_CHUNK)


def _too_large(max_bytes: int) -> OutboundError:
    message = staff_marked("The file has more than %(number)s bytes.")
    return OutboundError(Kind.TOO_LARGE, message % {"number": max_bytes})
