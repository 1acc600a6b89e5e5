"""One connection of a streamed call: bytes go out, and what comes in is handed on as it comes.

A protocol of our own, and a callback instead of a reader that sleeps: every piece of every streamed
answer passes through here, and waking a task for it costs more than what is done with the piece.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Callable, Sequence
from copy import copy
from typing import cast

from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

from masthead.outbound.addresses import Address
from masthead.outbound.connections import Gate
from masthead.outbound.turns import Turns

NEXT_ADDRESS_SECONDS = 0.25
"""How long one address of a host has before the next one is tried beside it."""
MAX_WAITING_BYTES = 256 * 1024
"""Not handed on yet; with more than that the far side has to wait."""
MAX_PIECE_BYTES = 16 * 1024
"""Handed on at once: nobody can make one piece of work out of what others have to wait for."""

Take = Callable[[bytes], bool]
"""Is given what has come, and says whether that is enough for now."""


class Wire(asyncio.Protocol):
    def __init__(self, turns: Turns) -> None:
        self._loop = asyncio.get_running_loop()
        self._turns = turns
        self._transport: asyncio.Transport | None = None
        self._waiting = b""
        self._take: Take | None = None
        self._poured: asyncio.Future[bool] | None = None
        """Of the pouring under way."""
        self._has_place = False
        """Among those whose turn will come."""
        self._is_paused = False
        self._has_ended = False
        self._failure: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._patience = math.inf
        self._last_came = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods without being of the class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        # As little as possible: hundreds of sockets may be ready at once, and nobody else's turn
        # comes before all of them have been read.
        self._waiting = self._waiting + data if self._waiting else data
        self._last_came = self._loop.time()
        if self._take is not None and not self._has_place:
            self._has_place = True
            self._turns.add(self)
        if len(self._waiting) > MAX_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended = True
        self._failure = error
        self._queue_up()

    def write(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(content)

    def put_back(self, data: bytes) -> None:
        """For the next pouring, before what has come since."""
        self._waiting = data + self._waiting

    async def pour(self, take: Take, timeout_seconds: float = math.inf) -> bool:
        """Gives `take` what has come and what comes, until it has enough: True; or until the end of
        the connection: False. The time limit is for each piece. Raises OSError, of which
        TimeoutError is one, and whatever `take` does."""
        self._take, self._patience = take, timeout_seconds
        self._last_came = self._loop.time()
        self._poured = self._loop.create_future()
        if self._waiting or self._has_ended:
            self._queue_up()
        self._watch(self._last_came + timeout_seconds)
        try:
            return await self._poured
        finally:
            self._take = self._poured = None
            if self._timer is not None:
                self._timer.cancel()

    def go_on(self) -> None:
        self._has_place = False
        take = self._take
        if take is None or self._poured is None or self._poured.done():
            return
        if not self._waiting:
            if self._has_ended:
                # A copy: one that has been raised would keep the wire by its traceback.
                self._stop(copy(self._failure))
            return
        data, self._waiting = self._waiting[:MAX_PIECE_BYTES], self._waiting[MAX_PIECE_BYTES:]
        if self._is_paused and self._transport is not None and not self._waiting:
            self._is_paused = False
            self._transport.resume_reading()
        try:
            is_enough = take(data)
        # Not caught but handed over, to whoever waits for the end of the pouring.
        except Exception as error:
            self._stop(error)
            return
        if is_enough:
            self._poured.set_result(True)
        elif self._waiting or self._has_ended:
            self._queue_up()

    def close(self) -> None:
        """At once, whatever is still on its way."""
        if self._transport is not None:
            self._transport.abort()

    def _queue_up(self) -> None:
        if self._take is not None and not self._has_place:
            self._has_place = True
            self._turns.add(self)

    def _stop(self, error: Exception | None) -> None:
        if self._poured is None or self._poured.done():
            return
        if error is None:
            self._poured.set_result(False)
        else:
            self._poured.set_exception(error)

    def _watch(self, deadline: float) -> None:
        # One timer for all the pieces: they come many times a second, and a timer for each would
        # cost as much as the piece.
        if deadline < math.inf:
            self._timer = self._loop.call_at(deadline, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if self._has_place:
            # It came in time, even if its turn does not.
            self._watch(now + self._patience)
        elif now < self._last_came + self._patience:
            self._watch(self._last_came + self._patience)
        else:
            self._stop(TimeoutError())


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
