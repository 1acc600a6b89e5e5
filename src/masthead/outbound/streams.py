"""Calls whose answer is read while it is still being written, as AI providers send theirs.

Each call has a connection of its own that ends with it: nothing is shared, nothing waits in a
queue, and whoever stops reading closes the connection at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_network
from pathlib import Path

from yarl import URL

from masthead import clock
from masthead.outbound.client import (
    CONNECT_SECONDS,
    NO_TLS,
    USER_AGENT,
    certificate_fault,
    told_apart,
)
from masthead.outbound.connections import Gate, trust_of
from masthead.outbound.errors import Kind, OutboundError
from masthead.outbound.framing import Body, Head, body_of, read_head
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.reach import RULES, Reach
from masthead.outbound.retry_after import read_retry_after
from masthead.outbound.targets import literal_address, read_url
from masthead.outbound.turns import Turns
from masthead.outbound.wire import Wire, connect
from masthead.setting_values import Network

EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))


class Incoming:
    """An answer whose head has come."""

    def __init__(self, wire: Wire, head: Head, body: Body) -> None:
        self._wire = wire
        self._body = body
        self.status = head.status
        self.retry_after = read_retry_after(head.headers.get("retry-after"), clock.now())
        """Seconds."""

    async def read(self, timeout_seconds: float) -> bytes:
        """What has come since the last time, or the next bytes; b"" at the end."""
        body = self._body
        try:
            while not body.is_complete:
                data = await self._wire.read(timeout_seconds)
                if not data and not body.end():
                    raise ConnectionResetError
                if content := body.feed(data):
                    return content
        except Exception as error:
            with told_apart():
                raise error
        return b""


class OutboundStreams:
    """Made and closed inside the running loop; one for the whole process."""

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._own_lookup = SystemLookup()
        allowed = {Reach.OPERATOR: EVERYWHERE, Reach.PUBLIC: (), Reach.LISTED: tuple(allow)}
        self._gates = {
            reach: Gate(rules, allowed[reach], lookup or self._own_lookup)
            for reach, rules in RULES.items()
        }
        self._ca_file = ca_file
        self._trust: ssl.SSLContext | None = None
        self._connect_seconds = connect_seconds
        self._turns = Turns()

    async def close(self) -> None:
        await self._own_lookup.close()

    @asynccontextmanager
    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        reach: Reach,
        timeout_seconds: float,
    ) -> AsyncIterator[Incoming]:
        """Yields once the answer's head is there, which `timeout_seconds` are for; redirects are
        not followed. Raises OutboundError."""
        target = read_url(url, RULES[reach])
        wire: Wire | None = None
        try:
            with told_apart():
                request = _request(target, headers, body)
                async with asyncio.timeout(timeout_seconds):
                    wire = await self._connect(target, self._gates[reach])
                    wire.write(request)
                    incoming = await _answer_on(wire)
            yield incoming
        finally:
            if wire is not None:
                wire.close()

    async def _connect(self, target: URL, gate: Gate) -> Wire:
        host, port = target.raw_host or "", target.port or 0
        literal = literal_address(target)
        if literal is not None:
            addresses = gate.check([literal], port)
        else:
            addresses = await gate.find(host, port)
        with _unsent():
            async with asyncio.timeout(self._connect_seconds):
                return await connect(addresses, target, gate, self._trusted(), self._turns)

    def _trusted(self) -> ssl.SSLContext:
        # On first use: reading the system's certificates is nothing that a start should wait for.
        if self._trust is None:
            self._trust = trust_of(self._ca_file)
        return self._trust


def _request(target: URL, headers: Mapping[str, str], body: bytes) -> bytes:
    sent = {
        "Host": target.host_port_subcomponent or "",
        "User-Agent": USER_AGENT,
        **headers,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"{name}: {value}" for name, value in sent.items()]
    if not all(line.isprintable() for line in lines):
        # A line end in a value would begin another header.
        raise ValueError("a header has a character that none may have")
    head = "\r\n".join([f"POST {target.raw_path_qs} HTTP/1.1", *lines, "", ""])
    return head.encode() + body


async def _answer_on(wire: Wire) -> Incoming:
    received = b""
    while True:
        data = await wire.read()
        if not data:
            raise ConnectionResetError
        received += data
        found = read_head(received)
        if found is not None:
            head, rest = found
            wire.put_back(rest)
            return Incoming(wire, head, body_of(head))


@contextmanager
def _unsent() -> Iterator[None]:
    """A host that was too slow to take the connection has not got the request, and a caller may
    have to pay for one that it has got: not the same as a slow answer."""
    try:
        yield
    except TimeoutError as error:
        message = "The host did not take the connection in time."
        raise OutboundError(Kind.CONNECT, message) from error
    except ssl.SSLCertVerificationError as error:
        raise OutboundError(Kind.TLS, certificate_fault(error)) from error
    except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
        raise OutboundError(Kind.TLS, NO_TLS) from error
    except OSError as error:
        raise OutboundError(Kind.CONNECT, "The host does not take connections.") from error
