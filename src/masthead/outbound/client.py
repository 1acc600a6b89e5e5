"""The HTTP client for all URLs that a tenant or a document chose.

Only global addresses, few ports, no proxy from the environment, no cookies, no decompression;
time, size and calls per host are limited.
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
from masthead.outbound.connections import CheckedResolver, connector, tls_context
from masthead.outbound.errors import BadStatus, Kind, OutboundError
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.retry_after import parse_retry_after
from masthead.outbound.slots import HostSlots
from masthead.outbound.targets import IMAGES, WEBHOOKS, check_port, literal_address, parse_url

USER_AGENT = f"Masthead/{__version__}"
CALLS_PER_HOST = 8
CONNECT_SECONDS = 5.0
CHECK_SECONDS = 3.0
MAX_REDIRECTS = 5
MAX_POOLED = 512
"""With more open sockets than this, new calls do not use the connection pool."""

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
    """After redirects."""
    content_type: str
    """As declared by the server; can't be trusted."""
    chunks: AsyncIterator[bytes]


class OutboundClient:
    """Constructed and closed inside the running loop; one per process."""

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
        tls = tls_context(ca_file)
        resolvers = [
            CheckedResolver(rules, allow, lookup or self._own_lookup, connect_seconds)
            for rules in (WEBHOOKS, IMAGES)
        ]
        self._webhooks, self._images = (
            _CallKind(resolver, tls, calls_per_host, connect_seconds) for resolver in resolvers
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
        """One call, without redirects; waiting for a slot does not count as its time."""
        target = parse_url(url, WEBHOOKS)
        calls = self._webhooks
        async with calls.slots.slot(_host_key(target)):
            started = time.perf_counter()
            with translated_errors():
                async with asyncio.timeout(timeout_seconds):
                    status, start, retry_after = await calls.post(
                        target, body, headers, max_answer_bytes
                    )
            duration_ms = round((time.perf_counter() - started) * 1000)
            return Answer(status, start, duration_ms, parse_retry_after(retry_after, clock.now()))

    @asynccontextmanager
    async def download(
        self, url: str, *, max_bytes: int, accept: str = "image/*", timeout_seconds: float = 60.0
    ) -> AsyncIterator[Download]:
        """Follows redirects; each hop is checked like the first and has its own timeout."""
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        target = parse_url(url, IMAGES)
        for _ in range(MAX_REDIRECTS + 1):
            async with self._images.get(target, headers, timeout_seconds) as (response, deadline):
                if response.status not in _REDIRECTS:
                    yield _download_of(response, max_bytes, deadline)
                    return
                target = _next_hop(target, response)
        raise OutboundError(Kind.PROTOCOL, "The server redirects too often.")

    async def check_url(self, url: str) -> Problem | None:
        """The problem of a subscription's URL; a name without an address is accepted."""
        try:
            await self._check(parse_url(url, WEBHOOKS))
        except OutboundError as error:
            return Problem("validation_invalid_url", error.message)
        return None

    async def _check(self, target: URL) -> None:
        resolver, port = self._webhooks.resolver, target.port or 0
        literal = literal_address(target)
        if literal is not None:
            resolver.check([literal], port)
            return
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await resolver.find(target.raw_host or "", port)
        except TimeoutError:
            check_port(port, WEBHOOKS)
        except OutboundError as error:
            if error.kind is not Kind.DNS:
                raise
            check_port(port, WEBHOOKS)


class _CallKind:
    """The connections and slots of one kind of call, so that one kind does not delay the other."""

    def __init__(
        self,
        resolver: CheckedResolver,
        tls: ssl.SSLContext,
        calls_per_host: int,
        connect_seconds: float,
    ) -> None:
        self.resolver = resolver
        self.slots = HostSlots(calls_per_host)
        self._pooled, self._single = (
            new_session(connector(resolver, tls, keeps_alive=keeps_alive), connect_seconds)
            for keeps_alive in (True, False)
        )

    @property
    def _session(self) -> aiohttp.ClientSession:
        is_over_limit = self.resolver.open_sockets > MAX_POOLED
        return self._single if is_over_limit else self._pooled

    async def close(self) -> None:
        await self._pooled.close()
        await self._single.close()

    @asynccontextmanager
    async def get(
        self, target: URL, headers: Mapping[str, str], timeout_seconds: float
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, float]]:
        """The response without its body, and the loop time at which the body must be complete."""
        async with self.slots.slot(_host_key(target)):
            deadline = asyncio.get_running_loop().time() + timeout_seconds
            trace = SimpleNamespace()
            with translated_errors():
                async with asyncio.timeout_at(deadline):
                    response = await self._session.get(
                        target, headers=headers, allow_redirects=False, trace_request_ctx=trace
                    )
            try:
                yield response, deadline
            finally:
                response.close()

    async def post(
        self, target: URL, body: bytes, headers: Mapping[str, str], max_answer_bytes: int
    ) -> tuple[int, bytes, str | None]:
        trace = SimpleNamespace(is_reused=False)
        options = {
            "data": body,
            "headers": headers,
            "allow_redirects": False,
            "trace_request_ctx": trace,
        }
        try:
            return await self._answer(target, options, max_answer_bytes)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The receiver may have closed a pooled connection just before the request, which is
            # no failure. On a new connection it is.
            if not trace.is_reused:
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
    tracing.on_connection_reuseconn.append(_on_reuse)
    tracing.on_connection_create_end.append(_on_connected)
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


async def _on_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.is_reused = True


async def _on_connected(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    if on_connected := getattr(context.trace_request_ctx, "on_connected", None):
        on_connected()


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
        return parse_url(str(target.join(URL(response.headers["Location"]))), IMAGES)
    except (KeyError, ValueError):
        raise OutboundError(Kind.PROTOCOL, "The server redirects to an invalid URL.") from None


def _download_of(response: aiohttp.ClientResponse, max_bytes: int, deadline: float) -> Download:
    if response.status != 200:
        retry_after = parse_retry_after(response.headers.get("Retry-After"), clock.now())
        raise BadStatus(response.status, retry_after)
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
    with translated_errors():
        async with asyncio.timeout_at(deadline):
            return await content.read(_CHUNK)


def _too_large(max_bytes: int) -> OutboundError:
    return OutboundError(Kind.TOO_LARGE, f"The file has more than {max_bytes} bytes.")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates errors of aiohttp and the system into OutboundError."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise OutboundError(
            Kind.TIMEOUT, "The host did not accept the connection in time."
        ) from error
    except TimeoutError as error:
        raise OutboundError(Kind.TIMEOUT, "The host did not answer in full in time.") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise OutboundError(Kind.TLS, certificate_fault(error.certificate_error)) from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise OutboundError(Kind.TLS, NO_TLS) from error
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, ConnectionResetError):
            # The host accepted the connection and closed it during the handshake.
            raise OutboundError(Kind.TLS, NO_TLS) from error
        raise OutboundError(Kind.CONNECT, "The host does not accept connections.") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError) as error:
        message = "The host closed the connection before its answer was complete."
        raise OutboundError(Kind.PROTOCOL, message) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise OutboundError(Kind.PROTOCOL, "The host's answer is not valid HTTP.") from error


def certificate_fault(cause: Exception) -> str:
    reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
    return f"The host's certificate is not trusted: {reason.rstrip('.') or 'it is not valid'}."
