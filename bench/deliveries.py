"""`python -m bench.deliveries`: the rate of webhook deliveries, and the cost of queueing them.

The receiver is a separate process with TLS and keep-alive. A delivery counts once the row of its
attempt is durable.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import signal
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import uvloop

from bench import datasets
from bench.databases import databases, settle
from bench.report import OURS, Row, Target, table
from bench.webhook_receiver import HANGING, HEALTHY, TIMED, Receiver, receiving
from masthead.base.caller import Caller, system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId, new_id
from masthead.engine.events.outbox import events
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import webhook_deliveries, webhook_subscriptions
from masthead.features.webhooks.results import QueueKey
from masthead.features.webhooks.signing import new_secret
from masthead.features.webhooks.tables import webhook_attempts
from masthead.service.background import delivery_worker
from masthead.service.schema import registry, tables
from masthead.service.services import Services, bring_up_to_date, build
from masthead.storage.database import EVERY_TENANT

NAME = "webhooks"
SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
LEAST_RATE = 1_500
MOST_GROWTH = 2
MOST_WRITE_COST = 1.3
MOST_CLAIM_GROWTH = 1.5
BACKLOG = 100_000
TENANTS = 200
"""Those who share a backlog, when it is not one tenant's."""

_POST = {
    "status": "draft",
    "tags": ["coast", "tides"],
    "excerpt": "What the keeper wrote down.",
    "content_html": "<p>The lighthouse keeps its own hours, and so does the sea.</p>" * 28,
}
"""About 1.8 KB, as the posts of the other measurements."""
_ROUNDS = 3
_EVENTS = 4_000
_HANGING_TENANTS = 10
"""Of five times as many."""
_EVENTS_OF_A_TURN = 1_600
_EVENTS_OF_A_WARM_UP = 400
_WRITE_ROUNDS = 6
_WRITE_TURNS = 12
_CLAIMED = 32
_CLAIMS = 50
_FILLED_AT_ONCE = 20_000


@dataclass(frozen=True)
class AtLeast(Target):
    def is_met(self, row: Row) -> bool | None:
        ours = row.median(OURS)
        return None if ours is None else ours >= self.limit

    def text(self, unit: str) -> str:
        return f">= {self.limit:g} {unit}"


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    target: Target | None
    run: Callable[[Bench], Awaitable[list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.deliveries", description=__doc__)
    parser.add_argument("--only", default="", help="measure rows with this in their name")
    parser.add_argument("--backlog", type=int, default=BACKLOG, help="waiting deliveries")
    options = parser.parse_args()
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(table(list(rows(options.only, backlog=options.backlog))))


def rows(only: str = "", *, backlog: int = BACKLOG) -> Iterator[Row]:
    for engine in (SQLITE, POSTGRESQL):
        named = [(f"{NAME}: {each.name}, {engine}", each) for each in _measures(backlog)]
        wanted = [(name, each) for name, each in named if only in name]
        if not wanted:
            continue
        with datasets.run_folder() as folder, databases(engine.lower(), folder) as new_database:
            for name, each in wanted:
                values = uvloop.run(_measured(each, folder, new_database()))
                yield Row(name, each.unit, {OURS: values}, each.target)


def names() -> list[str]:
    return [
        f"{NAME}: {each.name}, {engine}"
        for engine in (SQLITE, POSTGRESQL)
        for each in _measures(BACKLOG)
    ]


def _measures(backlog: int) -> Sequence[Measure]:
    waiting = f"claim of {_CLAIMED}, {backlog:,} waiting"
    return (
        Measure("delivered", "per second", AtLeast(LEAST_RATE), _rate),
        Measure("p99 delay, 20 % of the receivers hang", "x", Target(MOST_GROWTH), _hanging),
        Measure("write with a subscriber", "x", Target(MOST_WRITE_COST), _write_cost(1)),
        Measure("32 writes at once with one", "x", Target(MOST_WRITE_COST), _write_cost(32)),
        Measure(
            f"{waiting}, one tenant", "x", Target(MOST_CLAIM_GROWTH), _claim_growth(backlog, 1)
        ),
        Measure(
            f"{waiting}, {TENANTS} tenants",
            "x",
            Target(MOST_CLAIM_GROWTH),
            _claim_growth(backlog, TENANTS),
        ),
    )


async def _measured(measure: Measure, folder: Path, url: str) -> list[float]:
    async with _bench(folder, url) as bench:
        return await measure.run(bench)


class Bench:
    def __init__(self, parts: Services, receiver: Receiver) -> None:
        self.parts = parts
        self.receiver = receiver

    async def new_tenant(self) -> Caller:
        tenant_id = TenantId(new_id())
        caller = system(tenant_id)
        slug = f"t{tenant_id}"
        async with self.parts.records.unit(caller) as unit:
            values = {"id": tenant_id, "slug": slug, "name": slug, "plan": "pro"}
            await unit.create(registry["tenants"], values)
            await unit.create(registry["site_settings"], {"slug": slug, "site_name": slug})
        return caller

    async def subscribe(self, caller: Caller, url: str) -> QueueKey:
        values = {"name": "Bench", "url": url, "events": ["post.created"]}
        record = await self.parts.records.create(
            caller, webhook_subscriptions, values, stamped={"secret": new_secret()}
        )
        return QueueKey(TenantId(record["tenant_id"]), record["id"])

    async def write(self, caller: Caller, count: int, writers: int = 32) -> list[float]:
        """Creates posts from several tasks at once; the seconds that each took."""
        left, taken = iter(range(count)), list[float]()

        async def write_some() -> None:
            for number in left:
                began = time.perf_counter()
                values = _POST | {"title": f"Post {number}", "slug": f"post-{new_id()}"}
                await self.parts.records.create(caller, posts, values)
                taken.append(time.perf_counter() - began)

        await asyncio.gather(*(write_some() for _ in range(writers)))
        return taken

    async def attempts(self) -> int:
        counting = sa.select(sa.func.count()).select_from(webhook_attempts)
        statement = self.parts.database.compile(counting)
        found = await self.parts.database.fetch(EVERY_TENANT, statement, slow=True)
        return int(found[0][0])


async def _rate(bench: Bench) -> list[float]:
    """Attempts per second of one process with one receiver, from the first claim to the last
    durable row."""
    caller = await bench.new_tenant()
    await bench.subscribe(caller, bench.receiver.url())
    rates = []
    for _ in range(_ROUNDS):
        await bench.write(caller, _EVENTS)
        before = await bench.attempts()
        worker = delivery_worker(bench.parts)
        began = time.perf_counter()
        running = asyncio.ensure_future(worker.run_forever())
        while await bench.attempts() - before < _EVENTS:
            await asyncio.sleep(0.05)
        rates.append(_EVENTS / (time.perf_counter() - began))
        worker.stop()
        await running
    return rates


async def _hanging(bench: Bench) -> list[float]:
    """The growth of the p99 delay from commit to arrival: 50 tenants with a subscription each, then
    the receiver of ten of them never answers.

    In turns, because a single pause of the disk or the machine decides a p99 of some seconds.
    """
    await _p99_delay(bench, 0, _EVENTS_OF_A_WARM_UP)
    growth = []
    for _ in range(_ROUNDS):
        healthy = await _p99_delay(bench, 0)
        growth.append(await _p99_delay(bench, _HANGING_TENANTS) / healthy)
    return growth


async def _p99_delay(bench: Bench, hanging: int, count: int = _EVENTS_OF_A_TURN) -> float:
    """Of the same tenants' deliveries, whether others hang or not."""
    callers = [await bench.new_tenant() for _ in range(5 * _HANGING_TENANTS)]
    keys = {}
    for number, caller in enumerate(callers):
        host = HANGING if number < hanging else HEALTHY
        keys[caller] = await bench.subscribe(caller, bench.receiver.url(host, TIMED))
    delays = await _delays(bench, callers[_HANGING_TENANTS:], callers, count)
    for caller, key in keys.items():
        await bench.parts.records.delete(caller, webhook_subscriptions, key.webhook_id)
    # So that no hanging delivery is left for the next turn.
    await delivery_worker(bench.parts).run_due()
    return statistics.quantiles(delays, n=100)[98]


async def _delays(
    bench: Bench, counted: list[Caller], callers: list[Caller], count: int
) -> list[float]:
    """200 events a second, over all callers in turns."""
    worker = delivery_worker(bench.parts)
    running = asyncio.ensure_future(worker.run_forever())
    wanted = {str(caller.tenant_id) for caller in counted}
    committed: dict[str, float] = {}
    with bench.receiver.collected() as arrived:
        for number in range(count):
            caller = callers[number % len(callers)]
            record = await bench.parts.records.create(caller, posts, {"title": f"Post {number}"})
            if str(caller.tenant_id) in wanted:
                committed[record["id"]] = time.monotonic()
            await asyncio.sleep(0.005)
        while committed.keys() - arrived.keys():
            await asyncio.sleep(0.01)
    worker.stop()
    await running
    return [arrived[record_id] - moment for record_id, moment in committed.items()]


def _write_cost(writers: int) -> Callable[[Bench], Awaitable[list[float]]]:
    """The time of a write with a subscription, relative to one without, per round."""

    async def run(bench: Bench) -> list[float]:
        without, subscribed = await bench.new_tenant(), await bench.new_tenant()
        await bench.subscribe(subscribed, bench.receiver.url())
        costs = []
        for number in range(_WRITE_ROUNDS + 1):
            taken: dict[Caller, list[float]] = {subscribed: [], without: []}
            for _ in range(_WRITE_TURNS):
                # In short turns, so that other work of the machine affects both.
                for caller, seconds in taken.items():
                    seconds += await bench.write(caller, max(2 * writers, 20), writers)
            if number:  # the first one warms up
                medians = [statistics.median(seconds) for seconds in taken.values()]
                costs.append(medians[0] / medians[1])
        return costs

    return run


def _claim_growth(backlog: int, tenants: int) -> Callable[[Bench], Awaitable[list[float]]]:
    """The time of a claim, relative to one with an empty queue."""

    async def run(bench: Bench) -> list[float]:
        keys = []
        for _ in range(tenants):
            caller = await bench.new_tenant()
            keys.append(await bench.subscribe(caller, bench.receiver.url()))
            await bench.write(caller, 2 * _CLAIMED if tenants == 1 else 2)
        empty = await _claim_seconds(bench)
        await _fill(bench, keys, backlog)
        if bench.parts.database.name == "postgresql":
            await settle(str(bench.parts.settings.database_url))
        full = await _claim_seconds(bench)
        return [after / statistics.median(empty) for after in full]

    return run


async def _claim_seconds(bench: Bench) -> list[float]:
    """As a worker does it: due queues, their subscriptions, and a few deliveries of some."""
    queue, now, taken = bench.parts.deliveries, bench.parts.records.clock, []
    for _ in range(_CLAIMS):
        began = time.perf_counter()
        keys = await queue.due_queues(now(), 16)
        await queue.subscriptions(keys)
        claimed = await queue.claim(dict.fromkeys(keys, _CLAIMED // len(keys)), now())
        taken.append(time.perf_counter() - began)
        await queue.release([each for found in claimed.values() for each in found], now())
    return taken


async def _fill(bench: Bench, keys: Sequence[QueueKey], count: int) -> None:
    """Copies of each queue's first delivery, each with an event of its own."""
    database, each = bench.parts.database, count // len(keys)
    deliveries = tables[webhook_deliveries.name]
    for key in keys:
        first = await _first(bench, key)
        for start in range(0, each, _FILLED_AT_ONCE):
            numbers = _numbers(start, min(start + _FILLED_AT_ONCE, each))
            number = sa.cast(numbers.c.number, sa.BigInteger())
            name = sa.func.substr(sa.cast(number + sa.literal_column(str(10**15)), sa.Text()), 2)
            version = number + sa.literal_column(str(10**6))
            of_event = _copies(events, key, first[0], numbers, {"id": name, "version": version})
            of_delivery = _copies(
                deliveries, key, first[1], numbers, {"id": name, "event_id": name}
            )
            async with database.transaction(EVERY_TENANT) as tx:
                for copies in (of_event, of_delivery):
                    statement = database.compile(copies)
                    await tx.execute(statement, statement.bind({}), slow=True)


def _numbers(start: int, end: int) -> sa.CTE:
    numbers = sa.select(sa.literal_column(str(start)).label("number")).cte(recursive=True)
    following = numbers.c.number + sa.literal_column("1")
    return numbers.union_all(sa.select(following).where(following < sa.literal_column(str(end))))


def _copies(
    copied: sa.Table, key: QueueKey, row_id: str, numbers: sa.CTE, changed: dict[str, Any]
) -> sa.Insert:
    values = [changed.get(column.name, column) for column in copied.c]
    row = sa.select(*values).where(copied.c.tenant_id == key.tenant_id, copied.c.id == row_id)
    return sa.insert(copied).from_select(list(copied.c), row.select_from(numbers))


async def _first(bench: Bench, key: QueueKey) -> tuple[str, str]:
    """The ids of an event and of its delivery."""
    d, database = tables[webhook_deliveries.name].c, bench.parts.database
    statement = database.compile(
        sa.select(d.event_id, d.id).where(d.tenant_id == key.tenant_id).limit(1)
    )
    found = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return found[0][0], found[0][1]


@asynccontextmanager
async def _bench(folder: Path, database_url: str) -> AsyncIterator[Bench]:
    with receiving(folder) as receiver:
        settings = Settings.from_environ(
            {
                "MASTHEAD_DATA_DIR": str(folder / "data"),
                "MASTHEAD_DATABASE_URL": database_url,
                "MASTHEAD_OUTBOUND_ALLOW": str(ipaddress.ip_network("127.0.0.0/8")),
                "MASTHEAD_OUTBOUND_CA_FILE": str(receiver.authority),
            }
        )
        await bring_up_to_date(settings)
        parts = await build(settings)
        try:
            yield Bench(parts, receiver)
        finally:
            await parts.close()


if __name__ == "__main__":
    main()
