"""Posting to a real TLS receiver that fails in various ways."""

from __future__ import annotations

import asyncio
import ssl
import warnings
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

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
    drip,
    flood,
    hang,
    not_http,
    redirect,
    untrusted_certificate,
)

from masthead.base.version import NUMBER
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.tls import tls_context

BODY = '{"title":"Größe"}'.encode()
HEADERS = {"Content-Type": "application/json", "X-Service-Event": "test.ping"}


async def failure(client: OutboundClient, url: str, timeout_seconds: float = 10.0) -> OutboundError:
    with pytest.raises(OutboundError) as raised:
        await client.post(url, BODY, HEADERS, timeout_seconds=timeout_seconds)
    return raised.value


async def test_what_the_receiver_gets(client: OutboundClient, receiver: Receiver) -> None:
    receiver.next(answer(201, b"thanks"))
    got = await client.post(receiver.url("/a/b?c=d"), BODY, HEADERS)
    assert (got.status, got.body_start, got.retry_after) == (201, b"thanks", None)
    assert 0 <= got.duration_ms < 10_000
    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/a/b?c=d", BODY)
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": f"Masthead/{NUMBER}",
        "accept": "*/*",
        "content-type": "application/json",
        "content-length": str(len(BODY)),
        "x-service-event": "test.ping",
    }


@pytest.mark.parametrize("status", [204, 301, 302, 307, 400, 404, 410, 429, 500, 503])
async def test_every_status_is_an_answer_and_none_is_followed(
    client: OutboundClient, receiver: Receiver, status: int
) -> None:
    receiver.next(redirect(receiver.url("/elsewhere"), status))
    assert (await client.post(receiver.url(), BODY, HEADERS)).status == status
    assert [request.path for request in receiver.requests] == ["/hook"]


async def test_retry_after_in_seconds_and_as_a_date(
    client: OutboundClient, receiver: Receiver
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    receiver.next(answer(503, Retry_After="120"), answer(429, Retry_After=date))
    assert (await client.post(receiver.url(), BODY, HEADERS)).retry_after == 120
    in_seconds = (await client.post(receiver.url(), BODY, HEADERS)).retry_after
    assert in_seconds is not None
    assert 590 <= in_seconds <= 600


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (cut, Kind.PROTOCOL),
        (cut_mid_answer, Kind.PROTOCOL),
        (not_http, Kind.PROTOCOL),
        (answer(200, X_Long="x" * 20_000), Kind.PROTOCOL),
    ],
    ids=["cut", "cut_mid_answer", "not_http", "long_header"],
)
async def test_a_broken_answer(
    client: OutboundClient, receiver: Receiver, behaviour: Behaviour, kind: Kind
) -> None:
    receiver.next(behaviour)
    assert (await failure(client, receiver.url())).kind is kind
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("behaviour", [hang, drip(0.1)], ids=["hang", "drip"])
async def test_the_timeout_includes_the_body(
    client: OutboundClient, receiver: Receiver, behaviour: Behaviour, loop_time: LoopTime
) -> None:
    receiver.next(loop_time.overlong(behaviour, 10.0))
    began = loop_time()
    error = await failure(client, receiver.url(), timeout_seconds=10.0)
    assert error.kind is Kind.TIMEOUT
    assert len(receiver.requests) == 1
    assert loop_time() - began >= 10.0


async def test_a_host_without_a_tls_handshake_times_out_as_a_connection(
    authority: Authority,
) -> None:
    loop = asyncio.get_running_loop()
    silent = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file, connect_seconds=0.2)
    error = await failure(client, f"https://127.0.0.1:{port}/")
    assert (error.kind, error.message) == (
        Kind.TIMEOUT,
        "The host did not accept the connection in time.",
    )
    await client.close()
    silent.close()


async def test_a_refused_connection(client: OutboundClient, receiver: Receiver) -> None:
    await receiver.refuse()
    assert (await failure(client, receiver.url())).kind is Kind.CONNECT
    await receiver.listen()
    assert (await client.post(receiver.url(), BODY, HEADERS)).status == 200


@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_gigabyte_is_not_read(
    client: OutboundClient, receiver: Receiver, is_declared: bool
) -> None:
    sent = 0

    async def counted(exchange: Exchange) -> None:
        nonlocal sent
        write = exchange.writer.write

        def count(content: bytes) -> None:
            nonlocal sent
            sent += len(content)
            write(content)

        exchange.writer.write = count  # type: ignore[method-assign, assignment]
        await flood(is_declared=is_declared)(exchange)

    receiver.next(counted)
    got = await client.post(receiver.url(), BODY, HEADERS, max_answer_bytes=2048)
    assert (got.status, got.body_start) == (200, b"x" * 2048)
    await receiver.wait_until_idle()
    assert sent < 64 * 1024**2


@pytest.mark.parametrize("size", [0, 1, 2047, 2048, 2049, 5000])
async def test_the_start_of_the_answer_is_returned(
    client: OutboundClient, receiver: Receiver, size: int
) -> None:
    receiver.next(answer(200, b"y" * size))
    assert (await client.post(receiver.url(), BODY, HEADERS)).body_start == b"y" * min(size, 2048)


async def test_compressed_answers_are_not_decompressed(
    client: OutboundClient, receiver: Receiver
) -> None:
    receiver.next(answer(200, b"\x1f\x8b not really", Content_Encoding="gzip"))
    assert (await client.post(receiver.url(), BODY, HEADERS)).body_start == b"\x1f\x8b not really"


async def test_cookies_are_not_stored(client: OutboundClient, receiver: Receiver) -> None:
    receiver.next(answer(200, Set_Cookie="session=1"))
    for _ in range(2):
        await client.post(receiver.url(), BODY, HEADERS)
    assert all("cookie" not in request.headers for request in receiver.requests)


async def test_proxies_from_the_environment_are_ignored(
    client: OutboundClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await client.post(receiver.url(), BODY, HEADERS)).status == 200


class PlainHttp(asyncio.Protocol):
    """Answers a TLS handshake with a plain HTTP error."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        self._transport.close()


class TestCertificates:
    async def test_only_the_systems_and_the_operators_authorities_are_trusted(
        self, receiver: Receiver
    ) -> None:
        client = OutboundClient(allow=LOOPBACK)
        error = await failure(client, receiver.url())
        assert error.kind is Kind.TLS
        assert "certificate" in error.message
        assert receiver.requests == []
        await client.close()

    @pytest.mark.parametrize("fault", ["expired", "another host", "untrusted"])
    async def test_a_bad_certificate(
        self, client: OutboundClient, authority: Authority, fault: str
    ) -> None:
        certificate = {
            "expired": authority.expired_certificate,
            "another host": authority.certificate_of_another_host,
            "untrusted": untrusted_certificate,
        }[fault]()
        async with Receiver(certificate) as receiver:
            assert (await failure(client, receiver.url())).kind is Kind.TLS
            assert receiver.requests == []

    async def test_the_certificate_must_match_the_name(
        self, client: OutboundClient, receiver: Receiver, names: NameServer
    ) -> None:
        names.tell("one.hooks.test", ["127.0.0.1"])
        names.tell("one.elsewhere.test", ["127.0.0.1"])
        url = receiver.url(host="one.hooks.test")
        assert (await client.post(url, BODY, HEADERS)).status == 200
        assert receiver.requests[0].headers["host"] == f"one.hooks.test:{receiver.port}"
        assert (await failure(client, receiver.url(host="one.elsewhere.test"))).kind is Kind.TLS

    async def test_plain_http_behind_an_https_url(self, client: OutboundClient) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(PlainHttp, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert (await failure(client, f"https://127.0.0.1:{port}/")).kind is Kind.TLS
        server.close()

    async def test_tls_1_1_is_too_old(self, client: OutboundClient, authority: Authority) -> None:
        certificate = authority.certificate()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            certificate.minimum_version = ssl.TLSVersion.TLSv1
            certificate.maximum_version = ssl.TLSVersion.TLSv1_1
        certificate.set_ciphers("DEFAULT:@SECLEVEL=0")
        async with Receiver(certificate) as receiver:
            assert (await failure(client, receiver.url())).kind is Kind.TLS


class TestConnections:
    async def test_a_connection_is_reused(self, client: OutboundClient, receiver: Receiver) -> None:
        for _ in range(5):
            await client.post(receiver.url(), BODY, HEADERS)
        assert [request.connection for request in receiver.requests] == [1] * 5

    async def test_with_too_many_open_sockets_connections_are_not_reused(
        self, client: OutboundClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("masthead.outside.outbound.http_calls.MAX_POOLED", -1)
        for _ in range(3):
            await client.post(receiver.url(), BODY, HEADERS)
        assert [request.connection for request in receiver.requests] == [1, 2, 3]

    async def test_a_pooled_connection_that_is_closed_is_no_failure(
        self, client: OutboundClient, receiver: Receiver
    ) -> None:
        receiver.next(answer(200), cut, answer(204))
        await client.post(receiver.url(), BODY, HEADERS)
        assert (await client.post(receiver.url(), BODY, HEADERS)).status == 204
        assert [request.connection for request in receiver.requests] == [1, 1, 2]

    async def test_a_new_connection_that_is_closed_is_a_failure(
        self, client: OutboundClient, receiver: Receiver
    ) -> None:
        receiver.next(answer(200), cut, cut, answer(200))
        await client.post(receiver.url(), BODY, HEADERS)
        assert (await failure(client, receiver.url())).kind is Kind.PROTOCOL
        assert len(receiver.requests) == 3

    async def test_at_most_eight_calls_at_a_time_to_one_host(
        self, client: OutboundClient, receiver: Receiver
    ) -> None:
        release = asyncio.Event()

        async def held(exchange: Exchange) -> None:
            await release.wait()
            await answer(200)(exchange)

        receiver.default = held
        calls = [asyncio.create_task(client.post(receiver.url(), BODY, HEADERS)) for _ in range(30)]
        await receiver.wait_for(8)
        release.set()
        await asyncio.gather(*calls)
        assert (receiver.most_at_once, len(receiver.requests)) == (8, 30)

    async def test_waiting_for_a_slot_does_not_count_as_the_receivers_time(
        self, authority: Authority, receiver: Receiver, loop_time: LoopTime
    ) -> None:
        client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file, calls_per_host=1)
        receiver.next(hang, answer(200))
        slow = asyncio.create_task(failure(client, receiver.url()))
        await receiver.wait_for(1)
        waiting = asyncio.create_task(client.post(receiver.url(), BODY, HEADERS))
        await asyncio.sleep(0)
        await loop_time.advance(10.0)
        assert ((await waiting).status, (await slow).kind) == (200, Kind.TIMEOUT)
        await client.close()

    async def test_a_hanging_host_does_not_delay_another(
        self, client: OutboundClient, receiver: Receiver, authority: Authority, names: NameServer
    ) -> None:
        names.tell("two.hooks.test", ["127.0.0.2"])
        receiver.default = hang
        stuck = [asyncio.create_task(client.post(receiver.url(), BODY, HEADERS)) for _ in range(50)]
        await receiver.wait_for(8)
        async with Receiver(authority.certificate(), host="127.0.0.2") as other:
            url = other.url(host="two.hooks.test")
            statuses = [(await client.post(url, BODY, HEADERS)).status for _ in range(20)]
        assert statuses == [200] * 20
        for call in stuck:
            call.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        receiver.default = answer(200)
        assert (await client.post(receiver.url(), BODY, HEADERS)).status == 200


def test_the_extra_authority_is_added_to_the_systems(authority: Authority) -> None:
    own, both = tls_context(None), tls_context(authority.ca_file)
    assert both.cert_store_stats()["x509_ca"] == own.cert_store_stats()["x509_ca"] + 1
