"""A proxy between the service and the outside world, which does to connections what networks do.

    async with Proxy("127.0.0.1", port) as proxy:
        proxy.toxic = slow(0.2)     # for every connection, also those that are open
        proxy.toxic = cut
        proxy.toxic = None          # all is well again

Both sides are real sockets; neither knows of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType

_BLOCK = 65536
Toxic = Callable[[asyncio.StreamWriter, bytes], Awaitable[bytes | None]]
"""Gets a block and the side that it is for; returns what goes on, None to end the connection."""


def slow(seconds: float) -> Toxic:
    """Latency, of each block."""

    async def toxic(_to: asyncio.StreamWriter, block: bytes) -> bytes:
        await asyncio.sleep(seconds)
        return block

    return toxic


async def cut(to: asyncio.StreamWriter, _block: bytes) -> None:
    """Ends the connection in the middle."""
    to.close()


async def reset(to: asyncio.StreamWriter, _block: bytes) -> None:
    """Ends it with an RST, as a machine does that has forgotten the connection."""
    raw = to.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.transport.abort()


async def garbage(_to: asyncio.StreamWriter, block: bytes) -> bytes:
    """As many bytes, and none of them right."""
    return secrets.token_bytes(len(block))


async def silence(_to: asyncio.StreamWriter, _block: bytes) -> bytes:
    """Swallows everything, and holds the connection open."""
    return b""


def slow_close(seconds: float) -> Toxic:
    """Half of the block, then nothing for a while, then the end."""

    async def toxic(to: asyncio.StreamWriter, block: bytes) -> None:
        to.write(block[: len(block) // 2])
        await asyncio.sleep(seconds)
        to.close()

    return toxic


@dataclass
class Proxy:
    host: str
    """The far side: a host with a port, or with port 0 the path of a Unix socket."""
    target_port: int
    toxic: Toxic | None = None
    is_refusing: bool = False
    """Nobody listens: new connections end at once, and open ones too."""
    port: int = 0
    connections: int = 0
    bitten: int = 0
    """The blocks and connections that got a toxic."""
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def refuse(self) -> None:
        """The far side is down, from now on."""
        self.is_refusing = True
        for each in list(self._open):
            each.transport.abort()

    def heal(self) -> None:
        self.is_refusing, self.toxic = False, None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(asyncio.CancelledError):
            await self._relay(reader, writer)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.is_refusing:
            self.bitten += 1
            writer.transport.abort()
            return
        try:
            there, onward = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        with self._held(writer, onward):
            await asyncio.gather(self._pump(reader, onward), self._pump(there, writer))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.target_port == 0:
            return await asyncio.open_unix_connection(self.host)
        return await asyncio.open_connection(self.host, self.target_port)

    @contextlib.contextmanager
    def _held(self, *writers: asyncio.StreamWriter):  # type: ignore[no-untyped-def]
        self._open.update(writers)
        try:
            yield
        finally:
            self._open.difference_update(writers)
            for each in writers:
                each.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while block := await reader.read(_BLOCK):
                if self.toxic is not None:
                    self.bitten += 1
                    changed = await self.toxic(writer, block)
                    if changed is None:
                        break
                    block = changed
                writer.write(block)
                await writer.drain()
        writer.close()
