"""The parts that the benchmarks of one feature share: a database of their own, sites made by the
engine, a regular client of another site, and the table of their figures with its verdicts."""

from __future__ import annotations

import argparse
import http.client
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from bench import datasets, process, progress
from bench.databases import POSTGRESQL, SQLITE, databases, settle
from bench.report import aligned
from bench.service import PASSWORD, PLENTY
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.features.posts.collection import posts
from masthead.identity.api_keys import create_key
from masthead.identity.limits.plans import Plan
from masthead.identity.scopes import SCOPES
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import tenants
from masthead.service.services import Services, bring_up_to_date, build

Made = TypeVar("Made")
NEIGHBOUR: Final = "neighbour"
TEXT: Final = "<p>" + "Some words of an ordinary post. " * 60 + "</p>"
_SECRET: Final = "bench-secret-key-of-forty-characters-000"
_BATCH: Final = 200
_CLIENTS: Final = 2
_PAUSE_SECONDS: Final = 0.01


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def is_met(self) -> bool:
        above = self.most is not None and self.value > self.most
        return not above and not (self.least is not None and self.value < self.least)

    def cells(self) -> list[str]:
        goals = [f"at most {self.most:,g}" if self.most is not None else ""]
        goals.append(f"at least {self.least:,g}" if self.least is not None else "")
        shown = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.2f}"
        goal = "".join(goals) + ("" if self.is_met else ": MISSED")
        return [self.name, f"{shown} {self.unit}".strip(), goal]


def finish(figures: Iterable[Figure]) -> None:
    """Prints each as soon as it is there. Exits with 1 if a goal is missed."""
    found = []
    for each in figures:
        found.append(each)
        print("  ".join(each.cells()), file=sys.stderr, flush=True)
    print(aligned([["figure", "measured", "goal"], *(each.cells() for each in found)]))
    sys.exit(0 if found and all(each.is_met for each in found) else 1)


def options(
    name: str, description: str | None, *, has_engines: bool = True, **defaults: Any
) -> argparse.Namespace:
    """The database, and what is measured by default."""
    progress.end_on_sigterm()
    parser = argparse.ArgumentParser(prog=f"bench.{name}", description=description)
    if has_engines:
        parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    for option, default in defaults.items():
        flag = f"--{option.replace('_', '-')}"
        parser.add_argument(flag, type=type(default), default=default, help=f"{default!r}")
    return parser.parse_args()


@dataclass(frozen=True)
class Place:
    """A folder and a database for one installation."""

    folder: Path
    environment: dict[str, str]

    @property
    def settings(self) -> Settings:
        return Settings.from_environ(self.environment)

    @property
    def is_postgres(self) -> bool:
        return self.environment["MASTHEAD_DATABASE_URL"].startswith("postgres")

    def make(self, seed: Callable[[Services], Awaitable[Made]]) -> Made:
        """Runs a function of the engine's services, and waits for the search index."""
        return uvloop.run(self._make(seed))

    async def _make(self, seed: Callable[[Services], Awaitable[Made]]) -> Made:
        await bring_up_to_date(self.settings)
        parts = await build(self.settings)
        try:
            made = await seed(parts)
            while (await parts.records.search_index.run_batch()).indexed:
                pass
        finally:
            await parts.close()
        if self.is_postgres:
            await settle(self.environment["MASTHEAD_DATABASE_URL"])
        return made

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[tuple[int, int]]:
        """Yields the port and the process id of `masthead serve`."""
        data = self.folder / "data"
        with process.masthead(data, self.environment, *arguments) as (port, server):
            yield port, server.pid

    @contextmanager
    def command(self, *arguments: str) -> Iterator[int]:
        """Yields the process id of a command that runs until it is ended."""
        log = self.folder / f"{arguments[0]}.log"
        with process.ended([process.COMMAND, *arguments], log, self.environment) as running:
            yield running.pid


@contextmanager
def place(engine: str, **environment: str) -> Iterator[Place]:
    with datasets.run_folder() as folder, databases(engine, folder) as new_database:
        own = {
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_DATABASE_URL": new_database(),
            "MASTHEAD_SECRET_KEY": _SECRET,
        }
        yield Place(folder, own | environment)


async def new_site(parts: Services, slug: str) -> TenantId:
    """With an owner, and limits that are counted but never reached."""
    new = NewTenant(
        slug=slug,
        name=slug.title(),
        plan=Plan.ENTERPRISE,
        owner_email=f"owner@{slug}.example",
        owner_password=PASSWORD,
    )
    tenant_id = (await create_tenant(parts.records, new)).tenant_id
    limits = dict.fromkeys(("per_minute", "per_hour", "per_day"), PLENTY)
    await parts.records.update(system(tenant_id), tenants, tenant_id, limits)
    return tenant_id


async def new_key(parts: Services, tenant_id: TenantId) -> str:
    _, key = await create_key(parts.records, tenant_id, "bench", tuple(SCOPES))
    return key


async def new_neighbour(parts: Services) -> str:
    """Another site with some posts. Returns a key."""
    tenant_id = await new_site(parts, NEIGHBOUR)
    await fill(parts, tenant_id, posts, some_posts(200))
    return await new_key(parts, tenant_id)


async def fill(
    parts: Services, tenant_id: TenantId, collection: Collection, made: Iterable[Record]
) -> None:
    """Through the engine, with events, counts, tags, deliveries and search terms."""
    remaining = iter(made)
    while batch := list(islice(remaining, _BATCH)):
        async with parts.records.unit(system(tenant_id)) as unit:
            for each in batch:
                await unit.create(collection, each)


def some_posts(count: int) -> Iterator[Record]:
    for number in range(count):
        yield {
            "title": f"Post {number}",
            "slug": f"post-{number}",
            "content_html": TEXT,
            "status": "published",
            "tags": [f"tag {number % 100}", "everything"],
        }


@dataclass
class Latencies:
    """Milliseconds of the calls by their name, and the number of those that failed."""

    calls: dict[str, list[float]] = field(default_factory=dict)
    failed: int = 0

    def p99(self, name: str) -> float:
        ordered = sorted(self.calls[name])
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]

    def median(self, name: str) -> float:
        return statistics.median(self.calls[name])


def growths(quiet: Latencies, busy: Latencies, most: float, during: str) -> Iterator[Figure]:
    """How much longer the calls of another site take."""
    for name in quiet.calls:
        before, now = quiet.p99(name), busy.p99(name)
        said = f"another site's p99, {name}, {during} ({before:.1f} to {now:.1f} ms)"
        yield Figure(said, now / before, "times", most=most)
    yield Figure(f"another site's calls that failed {during}", busy.failed, most=0)


Call = tuple[str, str, dict[str, str], bytes | None]
"""Method, path, headers, body."""


class Neighbour:
    """Two regular clients of another site, in threads: each makes all calls in turn, and pauses."""

    def __init__(self, port: int, calls: dict[str, Call]) -> None:
        self._port = port
        self._calls = calls

    def during(self, work: Callable[[], object]) -> Latencies:
        found, is_over = Latencies({name: [] for name in self._calls}), threading.Event()
        threads = [
            threading.Thread(target=self._use, args=(found, is_over)) for _ in range(_CLIENTS)
        ]
        for each in threads:
            each.start()
        try:
            work()
        finally:
            is_over.set()
            for each in threads:
                each.join()
        return found

    def quiet(self, seconds: float) -> Latencies:
        return self.during(lambda: time.sleep(seconds))

    def _use(self, found: Latencies, is_over: threading.Event) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        while not is_over.wait(_PAUSE_SECONDS):
            for name, (method, path, headers, body) in self._calls.items():
                began = time.perf_counter()
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                answer.read()
                found.calls[name].append((time.perf_counter() - began) * 1_000)
                found.failed += answer.status not in (200, 201)
        connection.close()


def api_client(port: int, key: str) -> Neighbour:
    """With a key of the neighbour: lists and creates posts."""
    headers = {
        "Host": f"{NEIGHBOUR}.localhost:{port}",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
    }
    new = f'{{"title": "Another", "status": "published", "content_html": "{TEXT}"}}'.encode()
    calls: dict[str, Call] = {
        "list": ("GET", "/api/v1/posts?per_page=20", headers, None),
        "create": ("POST", "/api/v1/posts", headers, new),
    }
    return Neighbour(port, calls)
