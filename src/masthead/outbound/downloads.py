"""Many downloads from few hosts: so many at a time, polite to each host, and patient with what may
pass. A host that is gone is asked a few times and then no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from masthead.outbound.errors import BadStatus, Kind, OutboundError
from masthead.outbound.slots import HostSlots

if TYPE_CHECKING:
    # The client is what costs most to load, and a run without downloads needs none.
    from masthead.outbound.client import Download, OutboundClient

AT_ONCE = 8
PER_HOST = 4
GIVE_UP_AFTER = 3
"""So many downloads in a row that a host did not answer at all."""

T = TypeVar("T")
Take = Callable[["Download"], Awaitable[T]]
"""Reads the chunks; called anew for each attempt."""

# How often a failure is worth another attempt; what isn't named here is final.
_RETRIES = {Kind.STATUS: 3, Kind.TIMEOUT: 1, Kind.PROTOCOL: 1, Kind.CONNECT: 1, Kind.DNS: 1}
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_NO_ANSWER = frozenset({Kind.DNS, Kind.CONNECT, Kind.TIMEOUT, Kind.TLS})


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds."""

    delays: tuple[float, ...] = (1.0, 4.0, 15.0)
    longest: float = 60.0
    """However long the server asks for."""


PATIENT = Patience()


class Downloads:
    """Lives as long as one piece of work, such as an import."""

    def __init__(
        self,
        client: OutboundClient,
        *,
        max_bytes: int,
        timeout_seconds: float = 60.0,
        patience: Patience = PATIENT,
    ) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._patience = patience
        self._slots = HostSlots(PER_HOST)
        self._everywhere = asyncio.Semaphore(AT_ONCE)
        self._silences: Counter[str] = Counter()
        self._last_heard: dict[str, OutboundError] = {}
        self._not_before: dict[str, float] = {}

    async def fetch(self, url: str, take: Take[T]) -> T:
        """What `take` made of the answer. Raises OutboundError."""
        host = _host(url)
        attempt = 0
        while True:
            try:
                return await self._attempt(url, host, take)
            except OutboundError as error:
                if not self._is_worth_another(error, host, attempt):
                    raise
                self._pause_host(host, error)
                await asyncio.sleep(self._patience.delays[attempt])
                attempt += 1

    async def _attempt(self, url: str, host: str, take: Take[T]) -> T:
        await self._wait(host)
        # The host's turn first: those who wait for a slow host hold up nobody else.
        async with self._slots.slot(host), self._everywhere:
            if self._silences[host] >= GIVE_UP_AFTER:
                last = self._last_heard[host]
                raise OutboundError(last.kind, last.message)
            async with self._client.download(
                url, max_bytes=self._max_bytes, timeout_seconds=self._timeout_seconds
            ) as download:
                self._silences[host] = 0
                return await take(download)

    def _is_worth_another(self, error: OutboundError, host: str, attempt: int) -> bool:
        retries = min(_RETRIES.get(error.kind, 0), len(self._patience.delays))
        if isinstance(error, BadStatus):
            self._silences[host] = 0
            return error.status in _PASSING and attempt < retries
        if error.kind in _NO_ANSWER and attempt >= retries:
            self._silences[host] += 1
            self._last_heard[host] = error
        return attempt < retries and self._silences[host] < GIVE_UP_AFTER

    def _pause_host(self, host: str, error: OutboundError) -> None:
        """Too many requests are too many of all of them."""
        if isinstance(error, BadStatus) and error.retry_after is not None:
            seconds = min(error.retry_after, self._patience.longest)
            until = asyncio.get_running_loop().time() + seconds
            self._not_before[host] = max(until, self._not_before.get(host, 0.0))

    async def _wait(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, self._not_before.get(host, 0.0) - now))


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        # Refused where it is called.
        return ""
