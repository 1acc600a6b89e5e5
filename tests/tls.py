"""A real TLS receiver on loopback that records what it gets and fails as told.

    async with Receiver(authority) as receiver:
        receiver.next(answer(500), answer(200))   # then 200 for everything
        …
        await receiver.wait_for(2)

`authority.ca_file` goes into MASTHEAD_OUTBOUND_CA_FILE, 127.0.0.0/8 into MASTHEAD_OUTBOUND_ALLOW.
Every delivery of a webhook is held against the AsyncAPI description as it comes in.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import trustme
from tests.engine.events.described import check_delivery

from masthead.outside.outbound.tls import tls_context

NAMES = ("localhost", "127.0.0.1", "127.0.0.2", "::1", "*.hooks.test")
GIGABYTE = 1024**3


class Authority:
    """A certificate authority of the tests' own, and the certificates that it gives out."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.ca_file = folder / "authority.pem"
        self._ca.cert_pem.write_to_path(self.ca_file)
        # The folder of a test that has passed may have had the same name.
        tls_context.cache_clear()

    def certificate(self) -> ssl.SSLContext:
        return _context(self._ca.issue_cert(*NAMES))

    def write_certificate(self, path: Path) -> None:
        """With its key, for a server that is another process."""
        self._ca.issue_cert(*NAMES).private_key_and_cert_chain_pem.write_to_path(path)

    def trusting(self) -> ssl.SSLContext:
        """For a client."""
        return ssl.create_default_context(cafile=self.ca_file)

    def expired_certificate(self) -> ssl.SSLContext:
        past = datetime(2020, 1, 1, tzinfo=UTC)
        return _context(self._ca.issue_cert(*NAMES, not_before=past, not_after=past.replace(day=2)))

    def certificate_of_another_host(self) -> ssl.SSLContext:
        return _context(self._ca.issue_cert("elsewhere.invalid"))


def untrusted_certificate() -> ssl.SSLContext:
    return _context(trustme.CA().issue_cert(*NAMES))


def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


@dataclass(frozen=True)
class Received:
    """One request; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Counts up from 1 with every connection that the receiver accepted."""


@dataclass
class Exchange:
    """The request that a behaviour answers, and the way back."""

    request: Received
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def write(self, content: bytes) -> None:
        if self.writer.is_closing():
            # The streams would accept content long after the client has closed the connection.
            raise ConnectionResetError
        self.writer.write(content)
        await self.writer.drain()

    def close(self) -> None:
        self.writer.close()

    def abort(self) -> None:
        self.writer.transport.abort()


Behaviour = Callable[[Exchange], Awaitable[None]]


def answer(status: int = 200, body: bytes = b"", **headers: str) -> Behaviour:
    """Keyword arguments are headers: `answer(503, Retry_After="120")`."""
    lines = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    content = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def behave(exchange: Exchange) -> None:
        await exchange.write(content)

    return behave


def redirect(location: str, status: int = 301) -> Behaviour:
    return answer(status, Location=location)


async def hang(exchange: Exchange) -> None:
    """Takes the request and never answers, until the caller hangs up."""
    await exchange.reader.read()
    exchange.close()


async def cut(exchange: Exchange) -> None:
    """Closes without a word."""
    exchange.abort()


async def cut_mid_answer(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 Told\r\nContent-Length: 1000\r\n\r\nhalf an ans")
    exchange.close()


async def not_http(exchange: Exchange) -> None:
    await exchange.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    exchange.close()


def flood(size: int = GIGABYTE, *, status: int = 200, is_declared: bool = True) -> Behaviour:
    """Answers with as many bytes as the caller will take."""

    async def behave(exchange: Exchange) -> None:
        length = f"Content-Length: {size}\r\n" if is_declared else "Connection: close\r\n"
        await exchange.write(f"HTTP/1.1 {status} Told\r\n{length}\r\n".encode())
        block = b"x" * 65536
        for _ in range(0, size, len(block)):
            await exchange.write(block)
        exchange.close()

    return behave


def drip(interval_seconds: float, status: int = 200) -> Behaviour:
    """Sends its head at once and then a byte at a time, without end."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(
            f"HTTP/1.1 {status} Told\r\nContent-Length: {GIGABYTE}\r\n\r\n".encode()
        )
        while True:
            await exchange.write(b"x")
            await asyncio.sleep(interval_seconds)

    return behave


@dataclass
class Receiver:
    """Serves HTTP/1.1 with keep-alive; `certificate=None` means plain HTTP."""

    certificate: ssl.SSLContext | None
    default: Behaviour = field(default_factory=answer)
    host: str = "127.0.0.1"
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    most_at_once: int = 0
    """The largest number of requests that were being answered at the same time."""
    undescribed: list[Exception] = field(default_factory=list)
    """Errors of deliveries that differ from the description."""

    def __post_init__(self) -> None:
        self._script: deque[Behaviour] = deque()
        self._at_paths: dict[str, Behaviour] = {}
        self._changed = asyncio.Condition()
        self._handlers: set[asyncio.Task[None]] = set()
        self._answering = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Receiver:
        await self.listen()
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.refuse()
        if kind is None and self.undescribed:
            raise ExceptionGroup("deliveries are not as described", self.undescribed)

    def url(self, path: str = "/hook", host: str | None = None) -> str:
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{host or self.host}:{self.port}{path}"

    def next(self, *behaviours: Behaviour) -> None:
        """Sets the behaviours of the coming requests, one each; after them the default holds."""
        self._script.extend(behaviours)

    def at(self, path: str, behaviour: Behaviour) -> None:
        """Sets the behaviour for every request of this path; it goes before all others."""
        self._at_paths[path] = behaviour

    async def wait_for(self, count: int, timeout_seconds: float = 120.0) -> list[Received]:
        async with asyncio.timeout(timeout_seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def wait_until_idle(self, timeout_seconds: float = 120.0) -> None:
        """Until every connection is closed."""
        async with asyncio.timeout(timeout_seconds), self._changed:
            await self._changed.wait_for(lambda: self.open_now == 0)

    async def listen(self) -> None:
        """Also listens again, on the same port, after `refuse`."""
        self._server = await asyncio.start_server(
            self._serve, self.host, self.port, ssl=self.certificate, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """From now on connections are refused; those that are open end."""
        if self._server is not None:
            self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self.connections += 1
        self.open_now += 1
        try:
            # A client that hangs up in the middle is what many tests are about.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await self._converse(reader, writer, self.connections)
        except asyncio.CancelledError:
            # `refuse` ends us; the streams' own callback would log this as a fault.
            pass
        finally:
            writer.transport.abort()
            self._handlers.discard(task)
            self.open_now -= 1
            async with self._changed:
                self._changed.notify_all()

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        while not writer.is_closing():
            request = await _read_request(reader, connection)
            self._answering += 1
            self.most_at_once = max(self.most_at_once, self._answering)
            try:
                await self._behave(request, reader, writer)
            finally:
                self._answering -= 1

    async def _behave(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._check(request)
        behaviour = self._at_paths.get(request.path)
        if behaviour is None:
            behaviour = self._script.popleft() if self._script else self.default
        async with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        await behaviour(Exchange(request, reader, writer))

    def _check(self, request: Received) -> None:
        if "x-service-delivery" in request.headers:
            try:
                check_delivery(request.headers, request.body)
            # Told at the end: here it would only look like a receiver that hangs up.
            except Exception as error:
                self.undescribed.append(error)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, connection)
