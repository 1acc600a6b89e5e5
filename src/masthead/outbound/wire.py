"""One connection of a streamed call: bytes go out, and come in as whoever reads them asks for them.

A protocol of our own, because every piece of every streamed answer passes through here, and a
reader made for everything costs more than what is done with the piece.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Sequence
from typing import cast

from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

from masthead.outbound.addresses import Address
from masthead.outbound.connections import Gate
from masthead.outbound.turns import Turns

NEXT_ADDRESS_SECONDS = 0.25
"""How long one address of a host has before the next one is tried beside it."""
MAX_WAITING_BYTES = 256 * 1024
"""Unread; with more than that the far side has to wait."""


class Wire(asyncio.Protocol):
    """One timer watches all the reads: pieces come many times a second, and a timer for each would
    cost as much as the piece."""

    def __init__(self, turns: Turns) -> None:
        self._loop = asyncio.get_running_loop()
        self._turns = turns
        self._transport: asyncio.Transport | None = None
        self._waiting = b""
        self._reader: asyncio.Future[None] | None = None
        """Whoever sleeps until something comes."""
        self._is_paused = False
        self._has_ended = False
        self._failure: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watched_until = math.inf
        self._deadline = math.inf
        """Of the read under way."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods without being of the class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._waiting = self._waiting + data if self._waiting else data
        if self._reader is not None:
            self._wake()
        elif len(self._waiting) > MAX_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended = True
        self._failure = self._failure or error
        self._wake()

    def write(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(content)

    def put_back(self, data: bytes) -> None:
        """For the next read, before what has come since."""
        self._waiting = data + self._waiting

    async def read(self, timeout_seconds: float = math.inf) -> bytes:
        """What has come since the last time, or comes next; b"" at the end. Raises OSError, of
        which TimeoutError is one."""
        if not (self._waiting or self._has_ended or self._failure):
            self._deadline = self._loop.time() + timeout_seconds
            if self._deadline < self._watched_until:
                self._watch()
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._deadline = math.inf
        if not self._waiting and self._failure is not None:
            raise self._failure
        data, self._waiting = self._waiting, b""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        """At once, whatever is still on its way."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _wake(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            # It came in time, even if the reader's turn does not.
            self._deadline = math.inf
            self._turns.wake(reader)

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._watched_until = self._deadline
        self._timer = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        self._timer = None
        self._watched_until = math.inf
        if self._loop.time() >= self._deadline:
            self._failure = TimeoutError()
            self._wake()
        elif self._deadline < math.inf:
            self._watch()


async def connect(
    addresses: Sequence[Address], target: URL, gate: Gate, trust: ssl.SSLContext, turns: Turns
) -> Wire:
    """Whichever of the host's addresses takes the connection first; raises OSError."""
    opened = await start_connection(
        [_address_info(address, target.port or 0) for address in addresses],
        happy_eyeballs_delay=NEXT_ADDRESS_SECONDS,
        socket_factory=gate.open_socket,
    )
    is_encrypted = target.scheme == "https"
    _, wire = await asyncio.get_running_loop().create_connection(
        lambda: Wire(turns),
        sock=opened,
        ssl=trust if is_encrypted else None,
        server_hostname=(target.raw_host or "").rstrip(".") if is_encrypted else None,
    )
    return wire


def _address_info(address: Address, port: int) -> AddrInfoType:
    if address.version == 4:
        return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port)
    return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port, 0, 0)
