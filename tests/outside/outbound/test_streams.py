"""Streamed calls: their policies, and how they end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address, ip_network

import pytest
from tests.loop_time import LoopTime
from tests.outside.outbound.conftest import LOOPBACK
from tests.outside.outbound.names import NameServer
from tests.tls import (
    Authority,
    Behaviour,
    Exchange,
    Receiver,
    answer,
    cut,
    cut_mid_answer,
    flood,
    hang,
    not_http,
    redirect,
    untrusted_certificate,
)

from masthead.base.version import NUMBER
from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.policies import OutboundPolicy
from masthead.outside.outbound.streamed_response import MAX_READ_BYTES
from masthead.outside.outbound.streams import OutboundStreams


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver(None, answer(200, b"data: hello\n\n")) as receiver:
        yield receiver


async def read(streams: OutboundStreams, url: str, policy: OutboundPolicy) -> bytes:
    try:
        async with streams.post(url, b"{}", {}, policy=policy, timeout_seconds=30) as incoming:
            return await incoming.read(30)
    finally:
        await streams.close()


async def test_the_operators_address_may_be_private_and_plain(receiver: Receiver) -> None:
    assert (
        await read(OutboundStreams(), receiver.url(), OutboundPolicy.OPERATOR) == b"data: hello\n\n"
    )


async def test_a_listed_network_may_be_called(receiver: Receiver) -> None:
    streams = OutboundStreams(allow=[ip_network("127.0.0.0/8")])
    assert await read(streams, receiver.url(), OutboundPolicy.LISTED) == b"data: hello\n\n"


@pytest.mark.parametrize("policy", [OutboundPolicy.LISTED, OutboundPolicy.PUBLIC])
async def test_other_private_addresses_are_refused(
    receiver: Receiver, policy: OutboundPolicy
) -> None:
    streams = OutboundStreams(allow=[ip_network("10.0.0.0/8")])
    with pytest.raises(OutboundError) as refused:
        await read(streams, receiver.url(), policy)
    assert refused.value.kind is Kind.REFUSED_ADDRESS
    assert receiver.connections == 0


async def test_a_public_address_is_not_a_listed_one() -> None:
    streams = OutboundStreams(allow=[ip_network("10.0.0.0/8")])
    with pytest.raises(OutboundError) as refused:
        await read(streams, "https://93.184.215.14/v1", OutboundPolicy.LISTED)
    assert refused.value.kind is Kind.REFUSED_ADDRESS


async def test_a_known_name_with_a_private_address_is_refused(receiver: Receiver) -> None:
    async def inside(_host: str) -> list[Address]:
        return [ip_address("127.0.0.1")]

    streams = OutboundStreams(lookup=inside)
    with pytest.raises(OutboundError) as refused:
        await read(streams, "https://api.openai.com/v1", OutboundPolicy.PUBLIC)
    assert refused.value.kind is Kind.REFUSED_ADDRESS


@pytest.fixture
async def secure(authority: Authority) -> AsyncIterator[Receiver]:
    async with Receiver(authority.certificate()) as receiver:
        yield receiver


@pytest.fixture
async def streams(authority: Authority, names: NameServer) -> AsyncIterator[OutboundStreams]:
    streams = OutboundStreams(allow=LOOPBACK, ca_file=authority.ca_file, lookup=names.lookup)
    yield streams
    await streams.close()


async def all_of(streams: OutboundStreams, url: str, timeout_seconds: float = 30.0) -> bytes:
    content = b""
    async with streams.post(
        url, b"{}", {"X-A": "ü"}, policy=OutboundPolicy.LISTED, timeout_seconds=timeout_seconds
    ) as incoming:
        while piece := await incoming.read(timeout_seconds):
            content += piece
    return content


async def failure(streams: OutboundStreams, url: str, timeout_seconds: float = 30.0) -> Kind:
    with pytest.raises(OutboundError) as raised:
        await all_of(streams, url, timeout_seconds)
    return raised.value.kind


async def test_what_the_receiver_gets(streams: OutboundStreams, secure: Receiver) -> None:
    await all_of(streams, secure.url("/v1/a?b=c%20d"))
    (request,) = secure.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/a?b=c%20d", b"{}")
    assert request.headers == {
        "host": f"127.0.0.1:{secure.port}",
        "user-agent": f"Masthead/{NUMBER}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "x-a": "ü".encode().decode("latin-1"),
        "content-length": "2",
        "connection": "close",
    }


@pytest.mark.parametrize("value", ["a\r\nx-b: c", "a\nb", "a\rb", "a\0b"])
async def test_a_header_with_a_line_break_is_refused(
    streams: OutboundStreams, secure: Receiver, value: str
) -> None:
    with pytest.raises(OutboundError):
        async with streams.post(
            secure.url(), b"", {"X-A": value}, policy=OutboundPolicy.LISTED, timeout_seconds=30
        ):
            pass
    assert secure.connections == 0


async def until_closed(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.0 200 OK\r\n\r\none ")
    await exchange.write(b"two")
    exchange.close()


async def byte_by_byte(exchange: Exchange) -> None:
    content = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\none two\r\n0\r\n\r\n"
    for byte in content:
        await exchange.write(bytes([byte]))


@pytest.mark.parametrize("behaviour", [until_closed, byte_by_byte, answer(200, b"one two")])
@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_an_answer_may_be_framed_in_any_way(
    streams: OutboundStreams, authority: Authority, behaviour: Behaviour, is_encrypted: bool
) -> None:
    async with Receiver(authority.certificate() if is_encrypted else None) as receiver:
        receiver.next(behaviour)
        assert await all_of(streams, receiver.url()) == b"one two"


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (cut, Kind.PROTOCOL),
        (cut_mid_answer, Kind.PROTOCOL),
        (not_http, Kind.PROTOCOL),
    ],
)
async def test_a_failed_answer(
    streams: OutboundStreams, secure: Receiver, behaviour: Behaviour, kind: Kind
) -> None:
    secure.next(behaviour)
    assert await failure(streams, secure.url()) is kind
    await secure.wait_until_idle()


async def test_an_answer_that_times_out(
    streams: OutboundStreams, secure: Receiver, loop_time: LoopTime
) -> None:
    secure.next(loop_time.overlong(hang, 30.0))
    assert await failure(streams, secure.url()) is Kind.TIMEOUT
    await secure.wait_until_idle()


async def test_one_read_has_a_size_limit(streams: OutboundStreams, secure: Receiver) -> None:
    secure.next(flood(1024 * 1024))
    sizes: list[int] = []
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        while piece := await incoming.read(30):
            sizes.append(len(piece))
    assert sum(sizes) == 1024 * 1024
    assert max(sizes) <= MAX_READ_BYTES


async def oddly_framed(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 401 No\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")


async def test_the_status_counts_however_the_body_is_framed(
    streams: OutboundStreams, secure: Receiver
) -> None:
    secure.next(oddly_framed)
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        assert incoming.status == 401


async def test_a_hanging_lookup_is_a_dns_error(secure: Receiver) -> None:
    async def never(_host: str) -> list[Address]:
        await asyncio.Event().wait()
        return []

    streams = OutboundStreams(allow=LOOPBACK, lookup=never, connect_seconds=0.05)
    sent: list[bool] = []
    with pytest.raises(OutboundError) as raised:
        async with streams.post(
            secure.url(host="a.hooks.test"),
            b"",
            {},
            policy=OutboundPolicy.LISTED,
            timeout_seconds=30,
            on_sent=lambda: sent.append(True),
        ):
            pass
    await streams.close()
    assert raised.value.kind is Kind.DNS
    assert sent == []


async def test_a_pause_in_the_answer_has_its_own_limit(
    streams: OutboundStreams, secure: Receiver
) -> None:
    async def stall(exchange: Exchange) -> None:
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        await hang(exchange)

    secure.next(stall)
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        assert await incoming.read(30) == b"half"
        with pytest.raises(OutboundError) as raised:
            await incoming.read(0.05)
    assert raised.value.kind is Kind.TIMEOUT
    await secure.wait_until_idle()


def own_certificate(authority: Authority) -> dict[str, ssl.SSLContext]:
    return {
        "another host's": authority.certificate_of_another_host(),
        "expired": authority.expired_certificate(),
        "untrusted": untrusted_certificate(),
    }


@pytest.mark.parametrize("fault", ["another host's", "expired", "untrusted"])
async def test_a_certificate_must_be_valid(
    streams: OutboundStreams, authority: Authority, fault: str
) -> None:
    async with Receiver(own_certificate(authority)[fault]) as receiver:
        assert await failure(streams, receiver.url()) is Kind.TLS
        assert receiver.requests == []


async def test_an_https_call_to_a_plain_server_fails(streams: OutboundStreams) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 This is plain HTTP\r\n\r\n")
        heard.set_result(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await failure(streams, f"https://127.0.0.1:{port}/secret") is Kind.TLS
        assert b"secret" not in await heard


async def test_a_refused_connection(streams: OutboundStreams, unused_tcp_port: int) -> None:
    assert await failure(streams, f"https://127.0.0.1:{unused_tcp_port}/") is Kind.CONNECT


async def test_a_redirect_is_an_answer(streams: OutboundStreams, secure: Receiver) -> None:
    secure.next(redirect(secure.url("/elsewhere")))
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        assert incoming.status == 301
    assert len(secure.requests) == 1


async def test_a_name_is_resolved_and_checked_against_the_certificate(
    streams: OutboundStreams, names: NameServer, secure: Receiver
) -> None:
    names.tell("a.hooks.test", ["127.0.0.1"])
    await all_of(streams, secure.url(host="a.hooks.test"))
    assert secure.requests[0].headers["host"] == f"a.hooks.test:{secure.port}"


async def test_a_large_answer_is_buffered_only_in_part(
    streams: OutboundStreams, secure: Receiver
) -> None:
    written = 0

    async def pour(exchange: Exchange) -> None:
        nonlocal written
        await exchange.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await exchange.write(b"x" * 65536)
            written += 65536

    secure.next(pour)
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        before = -1
        while written > before:
            before = written
            await asyncio.sleep(0.1)
        assert written < 32 * 1024 * 1024
        assert await incoming.read(30)
        while written == before:
            await incoming.read(30)
    await secure.wait_until_idle()


async def test_leaving_the_context_closes_the_connection(
    streams: OutboundStreams, secure: Receiver
) -> None:
    secure.next(flood())
    async with streams.post(
        secure.url(), b"", {}, policy=OutboundPolicy.LISTED, timeout_seconds=30
    ) as incoming:
        await incoming.read(30)
    await secure.wait_until_idle()
