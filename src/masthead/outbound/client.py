"""The one way out: every HTTP call to an address that a tenant or a document chose.

Only global addresses, few ports, no proxy from the environment, no cookies, no decompression;
time, size and the calls to one host are capped.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
from yarl import URL

from masthead import __version__, clock
from masthead.config.values import Network
from masthead.errors import Problem
from masthead.outbound.connections import Gate, connector, trust_of
from masthead.outbound.errors import BadStatus, Kind, OutboundError
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.retry_after import read_retry_after
from masthead.outbound.slots import HostSlots
from masthead.outbound.targets import IMAGES, WEBHOOKS, check_port, literal_address, read_url

USER_AGENT = f"Masthead/{__version__}"
CALLS_PER_HOST = 8
CONNECT_SECONDS = 5.0
CHECK_SECONDS = 3.0
MAX_REDIRECTS = 5
MAX_POOLED = 512
"""With more sockets open than this, new calls use connections of their own that end with them."""

NO_TLS = "No TLS connection could be made with the host."

_CHUNK = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body_start: bytes
    duration_ms: int
    retry_after: int | None = None
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Download:
    url: str
    """Where the redirects led."""
    content_type: str
    """As declared: never believe it."""
    chunks: AsyncIterator[bytes]


class OutboundClient:
    """Made and closed inside the running loop; one for the whole process."""

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        calls_per_host: int = CALLS_PER_HOST,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.calls_per_host = calls_per_host
        self._own_lookup = SystemLookup()
        trust = trust_of(ca_file)
        gates = [
            Gate(rules, allow, lookup or self._own_lookup, connect_seconds)
            for rules in (WEBHOOKS, IMAGES)
        ]
        self._webhooks, self._images = (
            _Side(gate, trust, calls_per_host, connect_seconds) for gate in gates
        )

    async def close(self) -> None:
        await self._webhooks.close()
        await self._images.close()
        await self._own_lookup.close()

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_seconds: float = 10.0,
        max_answer_bytes: int = 2048,
    ) -> Answer:
        """One call, redirects not followed; waiting for a slot is not part of its time."""
        target = read_url(url, WEBHOOKS)
        side = self._webhooks
        async with side.slots.slot(_host_key(target)):
            started = time.perf_counter()
            with told_apart():
                async with asyncio.timeout(timeout_seconds):
                    status, start, retry_after = await side.post(
                        target, body, headers, max_answer_bytes
                    )
            duration_ms = round((time.perf_counter() - started) * 1000)
            return Answer(status, start, duration_ms, read_retry_after(retry_after, clock.now()))

    @asynccontextmanager
    async def download(
        self, url: str, *, max_bytes: int, accept: str = "image/*", timeout_seconds: float = 60.0
    ) -> AsyncIterator[Download]:
        """Follows redirects, each hop checked as if it were the first and with its own time."""
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        target = read_url(url, IMAGES)
        for _ in range(MAX_REDIRECTS + 1):
            async with self._images.get(target, headers, timeout_seconds) as (response, deadline):
                if response.status not in _REDIRECTS:
                    yield _download_of(response, max_bytes, deadline)
                    return
                target = _next_hop(target, response)
        raise OutboundError(Kind.PROTOCOL, "The server redirects too often.")

    async def check_url(self, url: str) -> Problem | None:
        """What is wrong with a subscription's URL; a name without an address is fine so far."""
        try:
            await self._check(read_url(url, WEBHOOKS))
        except OutboundError as error:
            return Problem("validation_invalid_url", error.message)
        return None

    async def _check(self, target: URL) -> None:
        gate, port = self._webhooks.gate, target.port or 0
        literal = literal_address(target)
        if literal is not None:
            gate.check([literal], port)
            return
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await gate.find(target.raw_host or "", port)
        except TimeoutError:
            check_port(port, WEBHOOKS)
        except OutboundError as error:
            if error.kind is not Kind.DNS:
                raise
            check_port(port, WEBHOOKS)


class _Side:
    """The connections and slots of one kind of call; a flood of one does not hold up the other."""

    def __init__(
        self, gate: Gate, trust: ssl.SSLContext, calls_per_host: int, connect_seconds: float
    ) -> None:
        self.gate = gate
        self.slots = HostSlots(calls_per_host)
        self._pooled, self._single = (
            new_session(connector(gate, trust, keeps_alive=keeps_alive), connect_seconds)
            for keeps_alive in (True, False)
        )

    @property
    def _session(self) -> aiohttp.ClientSession:
        is_crowded = self.gate.open_sockets > MAX_POOLED
        return self._single if is_crowded else self._pooled

    async def close(self) -> None:
        await self._pooled.close()
        await self._single.close()

    @asynccontextmanager
    async def get(
        self, target: URL, headers: Mapping[str, str], timeout_seconds: float
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, float]]:
        """The answer's head, and the loop's time by which the rest must have come."""
        async with self.slots.slot(_host_key(target)):
            deadline = asyncio.get_running_loop().time() + timeout_seconds
            notes = SimpleNamespace()
            with told_apart():
                async with asyncio.timeout_at(deadline):
                    response = await self._session.get(
                        target, headers=headers, allow_redirects=False, trace_request_ctx=notes
                    )
            try:
                yield response, deadline
            finally:
                response.close()

    async def post(
        self, target: URL, body: bytes, headers: Mapping[str, str], max_answer_bytes: int
    ) -> tuple[int, bytes, str | None]:
        notes = SimpleNamespace(is_reused=False)
        options = {
            "data": body,
            "headers": headers,
            "allow_redirects": False,
            "trace_request_ctx": notes,
        }
        try:
            return await self._answer(target, options, max_answer_bytes)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # A kept connection that the receiver was closing as we wrote says nothing about the
            # receiver; on a fresh one it does.
            if not notes.is_reused:
                raise
        return await self._answer(target, options, max_answer_bytes)

    async def _answer(
        self, target: URL, options: dict[str, Any], max_answer_bytes: int
    ) -> tuple[int, bytes, str | None]:
        async with self._session.post(target, **options) as response:
            start = await _start_of(response.content, max_answer_bytes)
            if not response.content.at_eof():
                response.close()
            return response.status, start, response.headers.get("Retry-After")


def new_session(connections: aiohttp.TCPConnector, connect_seconds: float) -> aiohttp.ClientSession:
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_note_reuse)
    tracing.on_connection_create_end.append(_note_connected)
    return aiohttp.ClientSession(
        connector=connections,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": USER_AGENT},
        skip_auto_headers=("Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds),
        auto_decompress=False,
        trust_env=False,
        trace_configs=[tracing],
    )


async def _note_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.is_reused = True


async def _note_connected(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    if when_connected := getattr(context.trace_request_ctx, "when_connected", None):
        when_connected()


def _host_key(target: URL) -> str:
    return (target.raw_host or "").removesuffix(".")


async def _start_of(content: aiohttp.StreamReader, max_bytes: int) -> bytes:
    start = bytearray()
    while len(start) < max_bytes:
        chunk = await content.read(max_bytes - len(start))
        if not chunk:
            break
        start += chunk
    return bytes(start)


def _next_hop(target: URL, response: aiohttp.ClientResponse) -> URL:
    try:
        return read_url(str(target.join(URL(response.headers["Location"]))), IMAGES)
    except (KeyError, ValueError):
        raise OutboundError(Kind.PROTOCOL, "The server redirects to nowhere.") from None


def _download_of(response: aiohttp.ClientResponse, max_bytes: int, deadline: float) -> Download:
    if response.status != 200:
        asked = read_retry_after(response.headers.get("Retry-After"), clock.now())
        raise BadStatus(response.status, asked)
    if (response.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)
    return Download(
        url=str(response.url),
        content_type=response.headers.get("Content-Type", ""),
        chunks=_chunks(response.content, max_bytes, deadline),
    )


async def _chunks(
    content: aiohttp.StreamReader, max_bytes: int, deadline: float
) -> AsyncIterator[bytes]:
    size = 0
    while chunk := await _next_chunk(content, deadline):
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(max_bytes)
        yield chunk


async def _next_chunk(content: aiohttp.StreamReader, deadline: float) -> bytes:
    with told_apart():
        async with asyncio.timeout_at(deadline):
            return await content.read(_CHUNK)


def _too_large(max_bytes: int) -> OutboundError:
    return OutboundError(Kind.TOO_LARGE, f"The file has more than {max_bytes} bytes.")


@contextmanager
def told_apart() -> Iterator[None]:
    """Turns what aiohttp and the system raise into our own family."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise OutboundError(
            Kind.TIMEOUT, "The host did not take the connection in time."
        ) from error
    except TimeoutError as error:
        raise OutboundError(Kind.TIMEOUT, "The host did not answer in full in time.") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise OutboundError(Kind.TLS, certificate_fault(error.certificate_error)) from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise OutboundError(Kind.TLS, NO_TLS) from error
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, ConnectionResetError):
            # It took the connection and broke off during the handshake.
            raise OutboundError(Kind.TLS, NO_TLS) from error
        raise OutboundError(Kind.CONNECT, "The host does not take connections.") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError) as error:
        message = "The host closed the connection before its answer was complete."
        raise OutboundError(Kind.PROTOCOL, message) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise OutboundError(Kind.PROTOCOL, "The host's answer is not valid HTTP.") from error


def certificate_fault(cause: Exception) -> str:
    reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
    return f"The host's certificate is not trusted: {reason.rstrip('.') or 'it is not valid'}."
