"""`python -m bench.webhooks`: deliveries a second, what a subscriber adds to a write, and what a
claim costs with a long queue. The receiver is a separate process with TLS and keep-alive; a
delivery counts once the row of its attempt is durable. Exits with 1 if a goal is missed."""

from __future__ import annotations

import argparse
import asyncio
import ssl
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, cast

import trustme
import uvloop

from bench import process
from bench.special import Figure, fill, finish, new_site, options, place, some_posts
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.read.page import ListRequest
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import (
    DELIVERED,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.signing import new_secret
from masthead.service.background import delivery_worker
from masthead.service.services import Services

LEAST_RATE: Final = 1_500
MOST_WRITE: Final = 1.3
MOST_CLAIM: Final = 1.5
_TURNS: Final = 12
_WRITES: Final = 40
_CLAIMED: Final = 32
_CLAIMS: Final = 50


def main() -> None:
    given = options("webhooks", __doc__, events=4_000, backlog=20_000)
    with tempfile.TemporaryDirectory() as folder, receiving(Path(folder)) as (url, authority):
        allowed = {"MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8"}
        with place(given.engine, MASTHEAD_OUTBOUND_CA_FILE=authority, **allowed) as installed:
            finish(installed.make(lambda parts: measured(parts, url, given)))


async def measured(parts: Services, url: str, given: argparse.Namespace) -> list[Figure]:
    without, subscribed = await new_site(parts, "without"), await new_site(parts, "subscribed")
    await _subscribe(parts, subscribed, url)
    cost = await _write_cost(parts, without, subscribed)
    await delivery_worker(parts).run_due()
    await fill(parts, subscribed, posts, some_posts(_CLAIMED))
    empty = await _claim_seconds(parts)
    rate = await _rate(parts, subscribed, given.events)
    await fill(parts, subscribed, posts, _named("waiting", given.backlog))
    full = await _claim_seconds(parts)
    return [
        Figure("deliveries of one process", rate, "a second", least=LEAST_RATE),
        Figure("a write with a subscriber, to one without", cost, "times", most=MOST_WRITE),
        Figure(
            f"a claim with {given.backlog:,} waiting, to one with {_CLAIMED}",
            full / empty,
            "times",
            most=MOST_CLAIM,
        ),
    ]


async def _subscribe(parts: Services, tenant_id: TenantId, url: str) -> None:
    values = {"name": "Bench", "url": url, "events": ["post.created"]}
    caller, stamped = system(tenant_id), {"secret": new_secret()}
    await parts.records.create(caller, webhook_subscriptions, values, stamped=stamped)


def _named(name: str, count: int) -> Iterator[dict[str, object]]:
    for number, post in enumerate(some_posts(count)):
        yield post | {"slug": f"{name}-{number}"}


async def _rate(parts: Services, tenant_id: TenantId, events: int) -> float:
    """From the first claim to the last durable attempt."""
    await fill(parts, tenant_id, posts, _named("event", events))
    worker, before = delivery_worker(parts), await _delivered(parts, tenant_id)
    began = time.perf_counter()
    running = asyncio.ensure_future(worker.run_forever())
    while await _delivered(parts, tenant_id) - before < events:
        await asyncio.sleep(0.05)
    took = time.perf_counter() - began
    worker.stop()
    await running
    return events / took


async def _delivered(parts: Services, tenant_id: TenantId) -> int:
    wanted = ListRequest(filter=f"state = '{DELIVERED}'", per_page=1)
    return (await parts.records.page(system(tenant_id), webhook_deliveries, wanted)).total


async def _write_cost(parts: Services, without: TenantId, subscribed: TenantId) -> float:
    """In short turns, so that other work of the machine affects both."""
    taken: dict[TenantId, list[float]] = {without: [], subscribed: []}
    for turn in range(_TURNS):
        for tenant_id, seconds in taken.items():
            for values in _named(f"turn-{turn}", _WRITES):
                began = time.perf_counter()
                await parts.records.create(system(tenant_id), posts, values)
                seconds.append(time.perf_counter() - began)
    return statistics.median(taken[subscribed]) / statistics.median(taken[without])


async def _claim_seconds(parts: Services) -> float:
    """As a worker does it: due queues, their subscriptions, and a few deliveries of some."""
    queue, now, taken = parts.webhooks.deliveries, parts.records.clock, []
    for _ in range(_CLAIMS):
        began = time.perf_counter()
        keys = await queue.due_queues(now(), 16)
        await queue.subscriptions(keys)
        claimed = await queue.claim(dict.fromkeys(keys, _CLAIMED // len(keys)), now())
        taken.append(time.perf_counter() - began)
        await queue.release([each for found in claimed.values() for each in found], now())
    return statistics.median(taken)


@contextmanager
def receiving(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the address, and the file of its authority."""
    ca = trustme.CA()
    authority, certificate = folder / "authority.pem", folder / "server.pem"
    ca.cert_pem.write_to_path(authority)
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    with process.child(_receive, certificate) as pipe:
        yield f"https://127.0.0.1:{pipe.recv()}/", str(authority)


def _receive(certificate: Path, to_parent: Connection) -> None:
    uvloop.run(_serve(certificate, to_parent))


async def _serve(certificate: Path, to_parent: Connection) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Receiving, "127.0.0.1", 0, ssl=context)
    to_parent.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class _Receiving(asyncio.Protocol):
    """Minimal HTTP: requests with Content-Length, answers without a body."""

    def __init__(self) -> None:
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
            self._data = self._data[end + 4 + length :]
            self._transport.write(b"HTTP/1.1 204 Taken\r\n\r\n")


if __name__ == "__main__":
    main()
