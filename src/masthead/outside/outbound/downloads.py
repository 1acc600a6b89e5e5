"""Downloads with limits: concurrent ones in all and per host, and retries of temporary errors. A
host that does not answer several times is not tried again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec

from masthead.outside.outbound.errors import BadStatus, Kind, OutboundError
from masthead.outside.outbound.slots import HostSlots

if TYPE_CHECKING:
    # The client is expensive to import, and not needed without downloads.
    from masthead.outside.outbound.answers import Download
    from masthead.outside.outbound.client import OutboundClient

MAX_CONCURRENT = 8
MAX_PER_HOST = 4
MAX_UNANSWERED = 3
"""Consecutive downloads without any answer, after which a host is not tried again."""

T = TypeVar("T")
Consume = Callable[["Download"], Awaitable[T]]
"""Reads the chunks; called for each attempt."""

# How often an error is retried; others are permanent.
_RETRIES = {Kind.STATUS: 3, Kind.TIMEOUT: 1, Kind.PROTOCOL: 1, Kind.CONNECT: 1, Kind.DNS: 1}
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
_NO_ANSWER = frozenset({Kind.DNS, Kind.CONNECT, Kind.TIMEOUT, Kind.TLS})


class RetryDelays(msgspec.Struct, frozen=True):
    """Seconds."""

    delays: tuple[float, ...] = (1.0, 4.0, 15.0)
    longest: float = 60.0
    """An upper limit of the server's Retry-After."""


RETRY_DELAYS = RetryDelays()


class Downloads:
    """Used for one task, such as an import."""

    def __init__(
        self,
        client: OutboundClient,
        *,
        max_bytes: int,
        timeout_seconds: float = 60.0,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._retry_delays = retry_delays
        self._slots = HostSlots(MAX_PER_HOST)
        self._all_hosts = asyncio.Semaphore(MAX_CONCURRENT)
        self._unanswered: Counter[str] = Counter()
        self._last_error: dict[str, OutboundError] = {}
        self._not_before: dict[str, float] = {}

    async def fetch(self, url: str, consume: Consume[T]) -> T:
        """The result of `consume`. Raises OutboundError."""
        host = _host(url)
        attempt = 0
        while True:
            try:
                return await self._attempt(url, host, consume)
            except OutboundError as error:
                if not self._should_retry(error, host, attempt):
                    raise
                self._pause_host(host, error)
                await asyncio.sleep(self._retry_delays.delays[attempt])
                attempt += 1

    async def _attempt(self, url: str, host: str, consume: Consume[T]) -> T:
        await self._wait(host)
        # The host's slot first, so that downloads from a slow host do not delay others.
        async with self._slots.slot(host), self._all_hosts:
            if self._unanswered[host] >= MAX_UNANSWERED:
                last = self._last_error[host]
                raise OutboundError(last.kind, last.message)
            async with self._client.download(
                url, max_bytes=self._max_bytes, timeout_seconds=self._timeout_seconds
            ) as download:
                self._unanswered[host] = 0
                return await consume(download)

    def _should_retry(self, error: OutboundError, host: str, attempt: int) -> bool:
        retries = min(_RETRIES.get(error.kind, 0), len(self._retry_delays.delays))
        if isinstance(error, BadStatus):
            self._unanswered[host] = 0
            return error.status in _RETRYABLE and attempt < retries
        if error.kind in _NO_ANSWER and attempt >= retries:
            self._unanswered[host] += 1
            self._last_error[host] = error
        return attempt < retries and self._unanswered[host] < MAX_UNANSWERED

    def _pause_host(self, host: str, error: OutboundError) -> None:
        """Retry-After concerns all downloads from the host."""
        if isinstance(error, BadStatus) and error.retry_after is not None:
            seconds = min(error.retry_after, self._retry_delays.longest)
            until = asyncio.get_running_loop().time() + seconds
            self._not_before[host] = max(until, self._not_before.get(host, 0.0))

    async def _wait(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, self._not_before.get(host, 0.0) - now))


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        # The client refuses it.
        return ""
