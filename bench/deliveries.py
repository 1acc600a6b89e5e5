"""`python -m bench.deliveries`: how fast webhooks go out, and what queueing them costs a write.

The receiver is a process of its own that speaks TLS and keeps connections alive. Every delivery
counts only once its attempt row is durable.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import multiprocessing
import ssl
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
import trustme
import uvloop

from masthead.app import Parts, bring_up_to_date, build, delivery_worker
from masthead.caller import Caller, system
from masthead.events.outbox import events
from masthead.ids import TenantId, new_id
from masthead.posts.collection import posts
from masthead.schema import registry, tables
from masthead.settings import Settings
from masthead.storage.database import EVERY_TENANT
from masthead.webhooks.collection import webhook_deliveries, webhook_subscriptions
from masthead.webhooks.queue import Lane
from masthead.webhooks.signing import new_secret
from masthead.webhooks.tables import webhook_attempts, webhook_lanes

HEALTHY, HANGING = "127.0.0.1", "127.0.0.2"
TIMED = "/timed"
"""Arrivals at this path are reported with their time."""
_BACKLOG_STEP = 5_000


def main() -> None:
    options = _options()
    uvloop.run(_measure(options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.deliveries", description=__doc__)
    parser.add_argument("--database-url", default="", help="an empty database; SQLite unless told")
    parser.add_argument("--events", type=int, default=6_000)
    parser.add_argument("--backlog", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="rate, hanging, writes or backlog")
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> None:
    for name, measure in (
        ("rate", _rate),
        ("hanging", _hanging),
        ("writes", _writes),
        ("backlog", _backlog),
    ):
        if options.only in name:
            async with _bench(options.database_url) as bench:
                await measure(bench, options)


class Bench:
    def __init__(self, parts: Parts, ports: dict[str, int], arrivals: Connection) -> None:
        self.parts = parts
        self.arrivals = arrivals
        self._ports = ports

    def url(self, host: str, path: str = "/") -> str:
        return f"https://{host}:{self._ports[host]}{path}"

    async def new_tenant(self) -> Caller:
        tenant_id = TenantId(new_id())
        caller = system(tenant_id)
        slug = f"t{tenant_id}"
        async with self.parts.records.unit(caller) as unit:
            values = {"id": tenant_id, "slug": slug, "name": slug, "plan": "pro"}
            await unit.create(registry["tenants"], values)
            await unit.create(registry["site_settings"], {"slug": slug, "site_name": slug})
        return caller

    async def subscribe(self, caller: Caller, url: str) -> str:
        values = {"name": "Bench", "url": url, "events": ["post.created"]}
        record = await self.parts.records.create(
            caller, webhook_subscriptions, values, stamped={"secret": new_secret()}
        )
        return str(record["id"])

    async def write(self, caller: Caller, count: int, writers: int = 32) -> list[float]:
        """Creates posts from several tasks at once; the seconds that each took."""
        left, taken = iter(range(count)), list[float]()

        async def write_some() -> None:
            for number in left:
                began = time.perf_counter()
                values = {"title": f"Post {number}", "slug": f"post-{new_id()}"}
                await self.parts.records.create(caller, posts, values)
                taken.append(time.perf_counter() - began)

        await asyncio.gather(*(write_some() for _ in range(writers)))
        return taken

    async def count(self, table: sa.Table) -> int:
        statement = self.parts.database.compile(sa.select(sa.func.count()).select_from(table))
        rows = await self.parts.database.fetch(EVERY_TENANT, statement, slow=True)
        return int(rows[0][0])


async def _rate(bench: Bench, options: argparse.Namespace) -> None:
    caller = await bench.new_tenant()
    await bench.subscribe(caller, bench.url(HEALTHY))
    await bench.write(caller, options.events)
    worker = delivery_worker(bench.parts)
    began, cpu = time.perf_counter(), time.process_time()
    sent = await _until_drained(bench, worker.run_forever, worker.stop, options.events)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    _say(
        f"one receiver, {sent} events: {sent / seconds:,.0f} events/s"
        f" ({sent / cpu:,.0f} per second of CPU); target 1,500"
    )


async def _until_drained(
    bench: Bench, run: Callable[[], Awaitable[None]], stop: Callable[[], None], count: int
) -> int:
    running = asyncio.ensure_future(run())
    while await bench.count(webhook_attempts) < count:
        await asyncio.sleep(0.05)
    stop()
    await running
    return await bench.count(webhook_attempts)


async def _hanging(bench: Bench, _: argparse.Namespace) -> None:
    """50 tenants with a subscription each; then ten of them hang."""
    delays = {}
    for name, hanging in (("all healthy", 0), ("20 % hanging", 10)):
        callers = [await bench.new_tenant() for _ in range(50)]
        for number, caller in enumerate(callers):
            host = HANGING if number < hanging else HEALTHY
            await bench.subscribe(caller, bench.url(host, TIMED))
        delays[name] = await _delays(bench, callers[hanging:], callers)
        _say(
            f"{name}: median {statistics.median(delays[name]) * 1000:.1f} ms, "
            f"p99 {_p99(delays[name]) * 1000:.1f} ms from commit to arrival"
        )
    healthy, mixed = delays.values()
    _say(f"p99 grows {_p99(mixed) / _p99(healthy):.2f} times; target under 2")


async def _delays(bench: Bench, counted: list[Caller], callers: list[Caller]) -> list[float]:
    """200 events a second for eight seconds, over all callers in turns."""
    worker = delivery_worker(bench.parts)
    bench.parts.records.after_queueing = worker.wake
    running = asyncio.ensure_future(worker.run_forever())
    wanted = {str(caller.tenant_id) for caller in counted}
    committed: dict[str, float] = {}
    with _collected(bench.arrivals) as arrived:
        for number in range(1_600):
            caller = callers[number % len(callers)]
            record = await bench.parts.records.create(caller, posts, {"title": f"Post {number}"})
            if str(caller.tenant_id) in wanted:
                committed[record["id"]] = time.monotonic()
            await asyncio.sleep(0.005)
        while committed.keys() - arrived.keys():
            await asyncio.sleep(0.01)
    bench.parts.records.after_queueing = None
    worker.stop()
    await running
    return [arrived[record_id] - moment for record_id, moment in committed.items()]


@contextmanager
def _collected(arrivals: Connection) -> Iterator[dict[str, float]]:
    """What arrives meanwhile; it must be taken off, or the receiver waits for that."""
    found: dict[str, float] = {}
    loop = asyncio.get_running_loop()

    def take() -> None:
        while arrivals.poll():
            record_id, moment = arrivals.recv()
            found[record_id] = moment

    loop.add_reader(arrivals.fileno(), take)
    try:
        yield found
    finally:
        loop.remove_reader(arrivals.fileno())


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


async def _writes(bench: Bench, _: argparse.Namespace) -> None:
    """Without a worker: what a subscription costs the write itself."""
    without, subscribed = await bench.new_tenant(), await bench.new_tenant()
    await bench.subscribe(subscribed, bench.url(HEALTHY))
    for writers in (1, 32):
        taken: dict[str, list[float]] = {"without": [], "with": []}
        for _round in range(6):
            # In turns, so that whatever else the machine does hits both.
            taken["without"] += await bench.write(without, 300, writers)
            taken["with"] += await bench.write(subscribed, 300, writers)
        medians = {name: statistics.median(each) * 1e6 for name, each in taken.items()}
        ratio = medians["with"] / medians["without"]
        _say(
            f"a write by {writers}: {medians['without']:.0f} µs without a subscriber, "
            f"{medians['with']:.0f} µs with one: {ratio:.2f} times; target under 1.3"
        )


async def _backlog(bench: Bench, options: argparse.Namespace) -> None:
    caller = await bench.new_tenant()
    webhook_id = await bench.subscribe(caller, bench.url(HEALTHY))
    lane = Lane(TenantId(str(caller.tenant_id)), webhook_id)
    await bench.write(caller, 64)
    empty = await _claim_seconds(bench, lane)
    await _fill(bench, options.backlog)
    full = await _claim_seconds(bench, lane)
    _say(
        f"a claim of 32: {empty * 1000:.2f} ms with an empty queue, {full * 1000:.2f} ms "
        f"with {options.backlog:,} waiting"
    )
    began = time.perf_counter()
    steps = 1
    longest = 0.0
    while True:
        step = time.perf_counter()
        more = await bench.parts.deliveries.drop(lane, bench.parts.records.clock())
        longest = max(longest, time.perf_counter() - step)
        if not more:
            break
        steps += 1
    _say(
        f"dropping them all: {time.perf_counter() - began:.1f} s in {steps} steps, "
        f"the longest {longest * 1000:.0f} ms"
    )


async def _claim_seconds(bench: Bench, lane: Lane) -> float:
    taken = []
    queue, now = bench.parts.deliveries, bench.parts.records.clock
    for _ in range(50):
        began = time.perf_counter()
        claimed = await queue.claim({lane: 32}, now())
        taken.append(time.perf_counter() - began)
        await queue.release(claimed[lane], now())
    return statistics.median(taken)


async def _fill(bench: Bench, count: int) -> None:
    """Copies of one delivery, each with an event of its own."""
    database = bench.parts.database
    deliveries = tables[webhook_deliveries.name]
    (event,) = await _first(bench, events)
    (delivery,) = await _first(bench, deliveries)
    insert_event = database.compile(sa.insert(events))
    insert_delivery = database.compile(sa.insert(deliveries))
    for start in range(0, count, _BACKLOG_STEP):
        numbers = range(start, min(start + _BACKLOG_STEP, count))
        names = [new_id() for _ in numbers]
        async with database.transaction(EVERY_TENANT) as tx:
            await tx.execute_many(
                insert_event,
                [
                    insert_event.bind(event | {"id": name, "version": 1_000_000 + number})
                    for number, name in zip(numbers, names, strict=True)
                ],
            )
            await tx.execute_many(
                insert_delivery,
                [insert_delivery.bind(delivery | {"id": n, "event_id": n}) for n in names],
            )
    async with database.transaction(EVERY_TENANT) as tx:
        statement = database.compile(sa.update(webhook_lanes).values(due_at=""))
        await tx.execute(statement, statement.bind({}))


async def _first(bench: Bench, table: sa.Table) -> list[dict[str, Any]]:
    database = bench.parts.database
    statement = database.compile(sa.select(table).limit(1))
    rows = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return [dict(zip(table.c.keys(), row, strict=True)) for row in rows]


@asynccontextmanager
async def _bench(database_url: str) -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory() as name, _receiver(Path(name)) as (ports, arrivals):
        folder = Path(name)
        environ = {
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_OUTBOUND_ALLOW": str(ipaddress.ip_network("127.0.0.0/8")),
            "MASTHEAD_OUTBOUND_CA_FILE": str(folder / "authority.pem"),
        }
        if database_url:
            environ["MASTHEAD_DATABASE_URL"] = database_url
        settings = Settings.from_environ(environ)
        await bring_up_to_date(settings)
        parts = await build(settings)
        try:
            yield Bench(parts, ports, arrivals)
        finally:
            await parts.close()


@contextmanager
def _receiver(folder: Path) -> Iterator[tuple[dict[str, int], Connection]]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    certificate = folder / "server.pem"
    authority.issue_cert(HEALTHY, HANGING).private_key_and_cert_chain_pem.write_to_path(certificate)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_receive, args=(certificate, theirs), daemon=True
    )
    process.start()
    ports: dict[str, int] = ours.recv()
    try:
        yield ports, ours
    finally:
        process.terminate()
        process.join()


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
    """Just enough HTTP: a request with a length, an answer without a body."""

    def __init__(self, arrivals: Connection, *, answers: bool) -> None:
        self._arrivals = arrivals
        self._answers = answers
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: uvloop's transports are of a family of their own.
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


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
