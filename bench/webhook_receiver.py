"""A receiver of webhooks in a separate process, with TLS and keep-alive."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import trustme
import uvloop

from bench import process

HEALTHY, HANGING = "127.0.0.1", "127.0.0.2"
TIMED = "/timed"
"""Arrivals at this path are reported with their time."""


@dataclass(frozen=True)
class Receiver:
    authority: Path
    """The certificate of the CA."""
    arrivals: Connection
    _ports: dict[str, int]

    def url(self, host: str = HEALTHY, path: str = "/") -> str:
        return f"https://{host}:{self._ports[host]}{path}"

    @contextmanager
    def collected(self) -> Iterator[dict[str, float]]:
        """Record ids and their times of arrival. An unread pipe would block the receiver."""
        found: dict[str, float] = {}
        loop = asyncio.get_running_loop()

        def read() -> None:
            while self.arrivals.poll():
                record_id, moment = self.arrivals.recv()
                found[record_id] = moment

        loop.add_reader(self.arrivals.fileno(), read)
        try:
            yield found
        finally:
            loop.remove_reader(self.arrivals.fileno())


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    ca = trustme.CA()
    authority, certificate = folder / "authority.pem", folder / "server.pem"
    ca.cert_pem.write_to_path(authority)
    ca.issue_cert(HEALTHY, HANGING).private_key_and_cert_chain_pem.write_to_path(certificate)
    with process.child(_receive, certificate) as pipe:
        yield Receiver(authority, pipe, pipe.recv())


def _receive(certificate: Path, to_parent: Connection) -> None:
    uvloop.run(_serve(certificate, to_parent))


async def _serve(certificate: Path, to_parent: Connection) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop, ports = asyncio.get_running_loop(), {}
    for host in (HEALTHY, HANGING):
        server = await loop.create_server(
            lambda host=host: _Receiving(to_parent, answers=host == HEALTHY),  # type: ignore[misc]
            host,
            0,
            ssl=context,
        )
        ports[host] = server.sockets[0].getsockname()[1]
    to_parent.send(ports)
    await asyncio.Event().wait()


class _Receiving(asyncio.Protocol):
    """Minimal HTTP: requests with Content-Length, answers without a body."""

    def __init__(self, arrivals: Connection, *, answers: bool) -> None:
        self._arrivals = arrivals
        self._answers = answers
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of `asyncio.Transport`.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            if len(self._data) < end + 4 + length:
                return
            body = self._data[end + 4 : end + 4 + length]
            self._data = self._data[end + 4 + length :]
            if head.startswith(b"post " + TIMED.encode()):
                record_id = body.split(b'"post_id":')[1].split(b'"')[1].decode()
                self._arrivals.send((record_id, time.monotonic()))
            if self._answers:
                self._transport.write(b"HTTP/1.1 204 Taken\r\n\r\n")
