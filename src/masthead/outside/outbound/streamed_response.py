"""A call whose response is read as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import aiohttp
from yarl import URL

from masthead.base import clock
from masthead.outside.outbound.http_errors import translated_errors
from masthead.outside.outbound.retry_after import parse_retry_after

MAX_READ_BYTES = 16 * 1024
"""The most bytes of one read, so that no response blocks the event loop for long."""


class StreamedResponse:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content
        self.close = response.close
        self.status = response.status
        self.retry_after = parse_retry_after(response.headers.get("Retry-After"), clock.now())
        """Seconds."""

    async def read(self, timeout_seconds: float) -> bytes:
        """The next bytes of the body as soon as there are any; empty at its end. Raises
        OutboundError."""
        with translated_errors():
            async with asyncio.timeout(timeout_seconds):
                return await self._content.read(MAX_READ_BYTES)


async def post_for_stream(
    session: aiohttp.ClientSession,
    target: URL,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
    on_sent: Callable[[], None],
) -> StreamedResponse:
    """Returns after the response's headers."""
    with translated_errors():
        async with asyncio.timeout(timeout_seconds):
            response = await session.post(
                target,
                data=body,
                headers={"Accept-Encoding": "identity", **headers},
                allow_redirects=False,
                trace_request_ctx=SimpleNamespace(on_connected=on_sent),
            )
    return StreamedResponse(response)
