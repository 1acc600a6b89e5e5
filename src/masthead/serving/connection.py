"""One connection of HTTP/1.1: one exchange after another, and how it ends.

Nothing here sets a timer: the server looks at all connections every few seconds and asks each how
long it has waited for the same thing.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import select
import socket
import struct
import termios
from typing import TYPE_CHECKING, Any

from masthead.serving.exchange import Exchange
from masthead.serving.intake import Intake
from masthead.serving.refusals import BodyTooSlow, HeadTooSlow, NoAnswer, answer_for
from masthead.serving.scopes import address

if TYPE_CHECKING:
    from masthead.serving.server import HttpServer

_NOT_AT_ALL = struct.pack("ii", 1, 0)
_INT = struct.Struct("i")


class Connection(Intake):
    __slots__ = (
        "_has_eof",
        "_loop",
        "_mark",
        "_marked_at",
        "_served",
        "_takers",
        "_task",
        "awaited_pieces",
        "is_full",
        "is_lingering",
        "is_lost",
    )

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server)
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        """Of the current exchange: the loop itself would not keep it."""
        self._has_eof = False
        self._served = 0
        self._takers: list[asyncio.Future[None]] = []
        self.awaited_pieces = 0
        """Of bodies: those that the application was waiting for when they came."""
        self.is_full = False
        """The peer has more to take than fits; `drained` returns when it has taken enough."""
        self.is_lingering = False
        """Everything is said, but the peer is still talking."""
        self.is_lost = False
        self._mark: tuple[float | None, int] = (None, 0)
        self._marked_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        if not self.server.lets_in(self):
            transport.close()
            return
        self.client = address(transport.get_extra_info("peername"))
        self.own = address(transport.get_extra_info("sockname"))

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = self.is_deaf = True
        self._waiting.clear()
        self._unfed = b""
        self.resume_writing()
        if self.current is None:
            self._forget()
        else:
            self.current.left()

    def _forget(self) -> None:
        self.server.went(self)
        # They hold each other, and would wait for the collector.
        self._parser = self._latest = self._task = None

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        takers, self._takers = self._takers, []
        for each in takers:
            if not each.done():
                each.set_result(None)

    async def drained(self) -> None:
        taken = self._loop.create_future()
        self._takers.append(taken)
        await taken

    def eof_received(self) -> bool:
        """Whether to stay: someone who only says that there are no more requests is answered."""
        self._has_eof = True
        if self.current is None or (self._latest is not None and not self._latest.is_whole):
            return False
        # Most who say so have left altogether, and whoever asks is told; the others don't ask.
        self.current.left()
        for each in self._waiting:
            each.left()
        return True

    def begin(self, scope: dict[str, Any], *, keep_alive: bool) -> Exchange:
        exchange = Exchange(self, scope, keep_alive)
        if self.current is None:
            self._start(exchange)
        else:
            self._waiting.append(exchange)
            self.hold()
        return exchange

    def _start(self, exchange: Exchange) -> None:
        self.current = exchange
        server = self.server
        self._task = self._loop.create_task(exchange.run(server.app))
        if server.is_draining:
            server.note_news()

    def ended(self, exchange: Exchange) -> None:
        """The application is through with it."""
        self.current = None
        self._served += 1
        if self.is_lost:
            self._forget()
        elif not exchange.is_done:
            self._break_off(exchange)
        elif not exchange.keep_alive:
            self._leave()
        elif self._waiting:
            self._start(self._waiting.popleft())
        elif self._refused is not None:
            self.refuse_now()
        elif self._has_eof:
            self.transport.close()
        if self.is_held:
            # Nobody will ask for the rest of its body.
            exchange.buffered = 0
            self.let_more_in()

    def refuse_now(self) -> None:
        self.transport.write(answer_for(self._refused or NoAnswer()))
        self._leave()

    def _break_off(self, exchange: Exchange) -> None:
        if not exchange.has_begun:
            self.refuse_now()
        elif exchange.ends_with_the_connection:
            self._abort()
        else:
            self._leave()

    def _leave(self) -> None:
        """Closing what has unread bytes resets the connection, and the peer may never see its
        answer. So the peer is told that there is no more, and may finish what it is saying."""
        is_quiet = (
            not (self._waiting or self._unfed or self.discarded or self._refused)
            and self.is_between
        )
        self.is_deaf = True
        self._waiting.clear()
        self._unfed = b""
        if is_quiet or self._has_eof:
            self.transport.close()
        elif not self.is_lingering and not self.transport.is_closing():
            self.is_lingering = True
            self.transport.write_eof()
            if self.is_held:
                self.is_held = False
                self.transport.resume_reading()

    def leave_if_idle(self) -> None:
        if self.current is None and not self.is_lingering:
            self.transport.close()

    def has_unread(self) -> bool:
        """Something has come that the loop has had no turn to read."""
        if self.is_lost or self.transport.is_closing():
            return False
        looking = select.poll()
        looking.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(looking.poll(0))

    def cut(self) -> asyncio.Task[None] | None:
        """Without regard to anything; returns the work that has been cancelled."""
        self._abort()
        if self._task is not None:
            self._task.cancel()
        return self._task

    def _abort(self) -> None:
        """Resets the connection: nobody can take that for an answer's regular end."""
        if self.is_lost:
            # Its number may be another connection's by now.
            return
        self.is_lost = True
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NOT_AT_ALL
            )
        self.transport.abort()

    def look(self, now: float) -> None:
        """Ends what has waited for too long; called every few seconds."""
        mark = self._waits_for()
        if mark != self._mark:
            self._mark, self._marked_at = mark, now
            return
        seconds = mark[0]
        # It may have begun right after the look before the one that noticed.
        if seconds is not None and now - self._marked_at >= seconds - self.server.looks_every:
            self._expire()

    def _waits_for(self) -> tuple[float | None, int]:
        """For how long it may, and something that changes as soon as there is progress."""
        limits, transport = self._limits, self.transport
        if self.is_lingering:
            return self.server.linger_seconds, self._untaken()
        if self.is_full or transport.is_closing():
            return limits.stalled_seconds, self._untaken()
        if self.current is not None:
            if self.current.awaits_body:
                return limits.stalled_seconds, self.awaited_pieces
            return None, self._served
        if self.is_between and self._served:
            return limits.idle_seconds, self._served
        return limits.head_seconds, self._served

    def _untaken(self) -> int:
        """Bytes that the peer has not acknowledged. Most of them are the kernel's, which asks for
        more only when it has got rid of megabytes: over a slow line that takes minutes."""
        size = self.transport.get_write_buffer_size()
        if not self.is_lost:
            number = self.transport.get_extra_info("socket").fileno()
            # Where the kernel does not tell, our own part has to do.
            with contextlib.suppress(OSError):
                size += _INT.unpack(fcntl.ioctl(number, termios.TIOCOUTQ, bytes(_INT.size)))[0]
        return size

    def _expire(self) -> None:
        if self.is_lingering or self.is_full or self.transport.is_closing():
            self._abort()
        elif self.current is not None:
            self.refuse(BodyTooSlow())
        elif self.is_between:
            self.transport.close()
        else:
            self.refuse(HeadTooSlow())
