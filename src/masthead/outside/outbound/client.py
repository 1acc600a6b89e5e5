"""The HTTP client for all URLs that a tenant or a document chose.

Only global addresses, few ports, no proxy from the environment, no cookies, no decompression;
time, size and calls per host are limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from yarl import URL

from masthead.base.config.values import Network
from masthead.base.errors import Problem
from masthead.outside.outbound.answers import Answer, Download
from masthead.outside.outbound.checked_lookup import CheckedLookup
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.loading import load_http
from masthead.outside.outbound.lookup import Lookup, SystemLookup
from masthead.outside.outbound.targets import (
    IMAGES,
    WEBHOOKS,
    Rules,
    check_port,
    literal_address,
    parse_url,
)

if TYPE_CHECKING:
    from masthead.outside.outbound.http_calls import HttpCalls

CALLS_PER_HOST = 8
CONNECT_SECONDS = 5.0
CHECK_SECONDS = 3.0


class CallLimits(TypedDict, total=False):
    timeout_seconds: float
    max_answer_bytes: int
    share: str
    """Calls of another one, such as another site, don't wait for the same slots."""


class OutboundClient:
    """Constructed and closed inside the running loop; one per process."""

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        calls_per_host: int = CALLS_PER_HOST,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.calls_per_host = calls_per_host
        self._own_lookup = SystemLookup()
        self._ca_file = ca_file
        self._connect_seconds = connect_seconds
        self._names = {
            rules: CheckedLookup(rules, allow, lookup or self._own_lookup, connect_seconds)
            for rules in (WEBHOOKS, IMAGES)
        }
        self._calls: dict[Rules, HttpCalls] = {}

    async def close(self) -> None:
        for calls in self._calls.values():
            await calls.close()
        await self._own_lookup.close()

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], **limits: Unpack[CallLimits]
    ) -> Answer:
        """One call, without redirects; waiting for a slot does not count as its time."""
        return await self._call(url, body, headers, **limits)

    async def get(
        self, url: str, headers: Mapping[str, str], **limits: Unpack[CallLimits]
    ) -> Answer:
        """The same without a body: for a document of which no redirect may lead away."""
        return await self._call(url, None, headers, **limits)

    async def _call(
        self,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout_seconds: float = 10.0,
        max_answer_bytes: int = 2048,
        share: str = "",
    ) -> Answer:
        target = parse_url(url, WEBHOOKS)
        calls = await self._calls_of(WEBHOOKS)
        return await calls.call(
            target, body, headers, timeout_seconds, max_answer_bytes=max_answer_bytes, share=share
        )

    @asynccontextmanager
    async def download(
        self, url: str, *, max_bytes: int, accept: str = "image/*", timeout_seconds: float = 60.0
    ) -> AsyncIterator[Download]:
        """Follows redirects; each hop is checked like the first and has its own timeout."""
        target = parse_url(url, IMAGES)
        calls = await self._calls_of(IMAGES)
        async with calls.download(
            target, max_bytes=max_bytes, accept=accept, timeout_seconds=timeout_seconds
        ) as download:
            yield download

    async def _calls_of(self, rules: Rules) -> HttpCalls:
        if rules not in self._calls:
            tls = await load_http(self._ca_file)
            from masthead.outside.outbound.http_calls import HttpCalls

            # Another call may have waited for the same.
            if rules not in self._calls:
                self._calls[rules] = HttpCalls(
                    self._names[rules], tls, self.calls_per_host, self._connect_seconds
                )
        return self._calls[rules]

    async def check_url(self, url: str) -> Problem | None:
        """The problem of a subscription's URL; a name without an address is accepted."""
        try:
            await self._check(parse_url(url, WEBHOOKS))
        except OutboundError as error:
            return Problem("validation_invalid_url", error.message)
        return None

    async def _check(self, target: URL) -> None:
        names, port = self._names[WEBHOOKS], target.port or 0
        literal = literal_address(target)
        if literal is not None:
            names.check([literal], port)
            return
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await names.find(target.raw_host or "", port)
        except TimeoutError:
            check_port(port, WEBHOOKS)
        except OutboundError as error:
            if error.kind is not Kind.DNS:
                raise
            check_port(port, WEBHOOKS)
