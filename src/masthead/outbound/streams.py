"""Calls whose answer is read while it is still being written, as AI providers send theirs.

Each call has a connection of its own that ends with it: nothing is shared, nothing waits in a
queue, and whoever stops reading closes the connection at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_network
from pathlib import Path

from yarl import URL

from masthead import clock
from masthead.outbound.addresses import Address
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
from masthead.outbound.wire import Take, Wire, connect
from masthead.setting_values import Network

EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))


class NotHttp(OutboundError):
    """What came is no answer, or not the one that its head announced."""

    def __init__(self) -> None:
        super().__init__(Kind.PROTOCOL, "The host's answer is not valid HTTP.")


class Incoming:
    """An answer whose head has come."""

    def __init__(self, wire: Wire, head: Head) -> None:
        self._wire = wire
        self._head = head
        self._body: Body | None = None
        self._take: Take | None = None
        self.status = head.status
        self.retry_after = read_retry_after(head.headers.get("retry-after"), clock.now())
        """Seconds."""

    async def pour(self, take: Take, timeout_seconds: float) -> bool:
        """Gives `take` what has come and what comes, until it has enough: True; or until the answer
        is complete: False. The time limit is for each piece. Raises OutboundError, and whatever
        `take` does."""
        self._take = take
        # Only now: an answer that nobody reads, such as a refusal, may be framed in any way.
        body = self._body = self._body or _body_of(self._head)
        if body.is_complete:
            return False
        try:
            has_more = await self._wire.pour(self._unframe, timeout_seconds)
            if not has_more and not body.end():
                raise ConnectionResetError
        except OSError:
            with told_apart():
                raise
        return not body.is_complete

    def _unframe(self, data: bytes) -> bool:
        assert self._body is not None
        assert self._take is not None
        try:
            content = self._body.feed(data)
        except ValueError as error:
            raise NotHttp from error
        is_enough = bool(content) and self._take(content)
        return is_enough or self._body.is_complete


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
        when_sent: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[Incoming]:
        """Yields once the answer's head is there, which `timeout_seconds` are for; redirects are
        not followed. From `when_sent` on the far side may have the request and charge for it.
        Raises OutboundError."""
        target = read_url(url, RULES[reach])
        wire: Wire | None = None
        try:
            with told_apart():
                request = _request(target, headers, body)
                wire = await self._connect(target, self._gates[reach])
                when_sent()
                wire.write(request)
                async with asyncio.timeout(timeout_seconds):
                    incoming = await _answer_on(wire)
            yield incoming
        finally:
            if wire is not None:
                wire.close()

    async def _connect(self, target: URL, gate: Gate) -> Wire:
        addresses = await self._addresses(target, gate)
        with _unsent():
            async with asyncio.timeout(self._connect_seconds):
                return await connect(addresses, target, gate, self._trusted(), self._turns)

    async def _addresses(self, target: URL, gate: Gate) -> Sequence[Address]:
        host, port = target.raw_host or "", target.port or 0
        literal = literal_address(target)
        if literal is not None:
            return gate.check([literal], port)
        try:
            async with asyncio.timeout(self._connect_seconds):
                return await gate.find(host, port)
        except TimeoutError as error:
            message = "The host name could not be looked up in time."
            raise OutboundError(Kind.DNS, message) from error

    def _trusted(self) -> ssl.SSLContext:
        # On first use: reading the system's certificates is nothing that a start should wait for.
        if self._trust is None:
            self._trust = trust_of(self._ca_file)
        return self._trust


def _request(target: URL, headers: Mapping[str, str], body: bytes) -> bytes:
    sent = {
        "Host": target.host_port_subcomponent or "",
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
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
    found: tuple[Head, bytes] | None = None

    def look_for_head(data: bytes) -> bool:
        nonlocal received, found
        received += data
        found = read_head(received)
        return found is not None

    await wire.pour(look_for_head)
    if found is None:
        raise ConnectionResetError
    head, rest = found
    wire.put_back(rest)
    return Incoming(wire, head)


def _body_of(head: Head) -> Body:
    try:
        return body_of(head)
    except ValueError as error:
        raise NotHttp from error


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
