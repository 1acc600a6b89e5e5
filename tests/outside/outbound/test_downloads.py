"""Many downloads: retries, limits per host, and giving up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
from tests.loop_time import LoopTime
from tests.outside.outbound.names import NameServer
from tests.tls import Exchange, Receiver, answer, cut, hang

from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.answers import Download
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.downloads import (
    MAX_CONCURRENT,
    MAX_PER_HOST,
    MAX_UNANSWERED,
    Downloads,
    RetryDelays,
)
from masthead.outside.outbound.errors import BadStatus, Kind, OutboundError

HASTY = RetryDelays(delays=(0.0, 0.0, 0.0), longest=0.2)
PICTURE = b"\x89PNG\r\n\x1a\n" + b"p" * 1_000


async def whole(download: Download) -> bytes:
    return b"".join([chunk async for chunk in download.chunks])


@pytest.fixture
def downloads(client: OutboundClient) -> Downloads:
    return Downloads(client, max_bytes=10**6, timeout_seconds=30.0, retry_delays=HASTY)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_temporary_error_is_retried(
    downloads: Downloads, receiver: Receiver, status: int
) -> None:
    receiver.next(answer(status), answer(status), answer(status), answer(200, PICTURE))
    assert await downloads.fetch(receiver.url("/a.png"), whole) == PICTURE


async def test_retries_end(downloads: Downloads, receiver: Receiver) -> None:
    receiver.default = answer(503)
    with pytest.raises(BadStatus) as raised:
        await downloads.fetch(receiver.url("/a.png"), whole)
    assert raised.value.status == 503
    assert len(receiver.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 501])
async def test_a_permanent_error_is_not_retried(
    downloads: Downloads, receiver: Receiver, status: int
) -> None:
    receiver.default = answer(status)
    with pytest.raises(BadStatus):
        await downloads.fetch(receiver.url("/a.png"), whole)
    assert len(receiver.requests) == 1


async def test_a_broken_connection_is_retried_once(
    downloads: Downloads, receiver: Receiver
) -> None:
    receiver.next(cut, answer(200, PICTURE))
    assert await downloads.fetch(receiver.url("/a.png"), whole) == PICTURE
    receiver.default = cut
    with pytest.raises(OutboundError) as raised:
        await downloads.fetch(receiver.url("/b.png"), whole)
    assert raised.value.kind is Kind.PROTOCOL
    # One retry here, and one of the client each time, for pooled connections.
    assert len(receiver.requests) <= 6


async def test_retry_after_delays_every_download_from_the_host(
    downloads: Downloads, receiver: Receiver
) -> None:
    receiver.at("/a.png", answer(429, Retry_After="3600"))
    started = time.monotonic()
    with pytest.raises(BadStatus) as raised:
        await downloads.fetch(receiver.url("/a.png"), whole)
    assert raised.value.retry_after == 3600
    # Three pauses, each limited; Retry-After is an hour.
    assert 0.6 <= time.monotonic() - started < 60.0
    receiver.next(answer(503, Retry_After="1"), answer(200, PICTURE))
    receiver.at("/c.png", answer(200, PICTURE))
    waiting = asyncio.create_task(downloads.fetch(receiver.url("/b.png"), whole))
    await receiver.wait_for(5)
    await asyncio.sleep(0)
    assert await downloads.fetch(receiver.url("/c.png"), whole) == PICTURE
    assert await waiting == PICTURE


async def test_a_host_that_never_answers_is_not_tried_again() -> None:
    asked: list[str] = []

    async def lookup(host: str) -> Sequence[Address]:
        asked.append(host)
        raise OSError

    client = OutboundClient(lookup=lookup)
    downloads = Downloads(client, max_bytes=10**6, retry_delays=HASTY)
    for number in range(20):
        with pytest.raises(OutboundError, match="no address"):
            await downloads.fetch(f"https://gone.example/{number}.png", whole)
    assert asked == ["gone.example"] * 2 * MAX_UNANSWERED
    await client.close()


async def test_any_answer_resets_the_count_of_unanswered_downloads(
    downloads: Downloads, receiver: Receiver
) -> None:
    receiver.next(*[answer(404)] * 10, answer(200, PICTURE))
    for _ in range(10):
        with pytest.raises(BadStatus):
            await downloads.fetch(receiver.url("/a.png"), whole)
    assert await downloads.fetch(receiver.url("/a.png"), whole) == PICTURE


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/a.png",
        "http://[::1]/a.png",
        "ftp://a.example/a.png",
        "http://a.example:22/a.png",
        "http://[bad",
        "",
    ],
)
async def test_refused_addresses(
    strict_client: OutboundClient, names: NameServer, url: str
) -> None:
    names.tell("a.example", ["93.184.216.34"])
    downloads = Downloads(strict_client, max_bytes=10**6, retry_delays=HASTY)
    with pytest.raises(OutboundError) as raised:
        await downloads.fetch(url, whole)
    assert raised.value.kind is Kind.REFUSED_ADDRESS


async def test_a_few_at_a_time_from_one_host_and_others_do_not_wait(
    downloads: Downloads, receiver: Receiver, names: NameServer
) -> None:
    names.tell("other.hooks.test", ["127.0.0.1"])
    let_go = asyncio.Event()

    async def held(exchange: Exchange) -> None:
        await let_go.wait()
        await answer(200, PICTURE)(exchange)

    receiver.default = held
    slow = [
        asyncio.create_task(downloads.fetch(receiver.url(f"/{number}.png"), whole))
        for number in range(12)
    ]
    await receiver.wait_for(MAX_PER_HOST)
    receiver.at("/quick.png", answer(200, PICTURE))
    assert await downloads.fetch(receiver.url("/quick.png", "other.hooks.test"), whole) == PICTURE
    let_go.set()
    assert await asyncio.gather(*slow) == [PICTURE] * 12
    assert MAX_PER_HOST < receiver.most_at_once <= MAX_PER_HOST + 1 <= MAX_CONCURRENT


async def test_a_host_that_never_answers(
    downloads: Downloads, receiver: Receiver, loop_time: LoopTime
) -> None:
    receiver.default = loop_time.overlong(hang, 30.0)
    with pytest.raises(OutboundError) as raised:
        await downloads.fetch(receiver.url("/a.png"), whole)
    assert raised.value.kind is Kind.TIMEOUT
    assert len(receiver.requests) == 2


async def test_an_error_of_the_consumer_is_not_translated(
    downloads: Downloads, receiver: Receiver
) -> None:
    async def fail(download: Download) -> bytes:
        raise LookupError

    receiver.default = answer(200, PICTURE)
    with pytest.raises(LookupError):
        await downloads.fetch(receiver.url("/a.png"), fail)
    assert len(receiver.requests) == 1
