"""`python -m bench.mailings`: a newsletter to 50,000 members, on SQLite and on PostgreSQL.

The service, the worker and the mail server are processes of their own. Before, during and after the
send, clients with a key list and create posts of another site. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import uvloop

from bench import datasets, process
from bench.databases import POSTGRESQL, SQLITE, databases, settle
from bench.http import call
from bench.mail_server import Arrivals, MailServer, mail_server
from bench.mailings_data import BIG, Sites, seed
from bench.privacy_clients import READ, WRITE, Calls, OtherTenant, milliseconds
from masthead.base.config.settings import Settings
from masthead.service.services import bring_up_to_date, build

MEMBERS: Final = 50_000
LEAST_RATE: Final = 300
MOST_MEGABYTES: Final = 200
MOST_GROWTH: Final = 10
"""Megabytes between the second and the last quarter of a send: flat."""
MOST_TIMES: Final = 2
QUIET_SECONDS: Final = 10.0
SAMPLE_SECONDS: Final = 0.25
WORKER_SECONDS: Final = 3.0
"""For a worker's start."""
MOST_SECONDS: Final = 1_800.0
"""A send that hangs ends the measurement."""
_SECRET: Final = "bench-secret-key-of-forty-characters-000"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.mailings", description=__doc__)
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), help="only this database")
    parser.add_argument("--quiet-seconds", type=float, default=QUIET_SECONDS)
    parser.add_argument("--start-only", action="store_true", help="measure only the start")
    options = parser.parse_args()
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    engines = [options.engine] if options.engine else [SQLITE, POSTGRESQL]
    rows = [row for engine in engines for row in measure(engine, options)]
    print(table(rows))
    sys.exit(any(row.is_met is False for row in rows))


@dataclass(frozen=True)
class Row:
    name: str
    value: str
    target: str = ""
    is_met: bool | None = None


def measure(engine: str, options: argparse.Namespace) -> Iterator[Row]:
    with (
        datasets.run_folder() as folder,
        databases(engine, folder) as new_database,
        mail_server() as server,
    ):
        environment = {
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_DATABASE_URL": new_database(),
            "MASTHEAD_SECRET_KEY": _SECRET,
            "MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{server.port}",
            "PYTHONDONTWRITEBYTECODE": "",
        }
        print(f"{engine}: making {options.members:,} members", file=sys.stderr)
        sites = uvloop.run(_seed(environment, options.members))
        if engine == POSTGRESQL:
            uvloop.run(settle(environment["MASTHEAD_DATABASE_URL"]))
        with _serving(folder, environment) as service:
            run = Run(folder, environment, server, sites, service, options)
            found = uvloop.run(run.one_worker())
            yield from (_named(engine, row) for row in found)
            if engine == POSTGRESQL and not options.start_only:
                yield from (_named(engine, row) for row in uvloop.run(run.two_workers()))


def _named(engine: str, row: Row) -> Row:
    return Row(f"{row.name}, {engine}", row.value, row.target, row.is_met)


async def _seed(environment: dict[str, str], members: int) -> Sites:
    settings = Settings.from_environ(environment)
    await bring_up_to_date(settings)
    parts = await build(settings)
    try:
        return await seed(parts, members)
    finally:
        await parts.close()


@dataclass(frozen=True)
class Service:
    port: int
    pid: int


@contextmanager
def _serving(folder: Path, environment: dict[str, str]) -> Iterator[Service]:
    port = process.free_port()
    command = [process.COMMAND, "serve", "--no-demo", "--no-worker", f"--port={port}"]
    with process.running(command, port, folder / "service.log", environment) as service:
        yield Service(port, service.pid)


@contextmanager
def _working(folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "worker.log").open("ab") as log:
        worker = subprocess.Popen(
            [process.COMMAND, "worker"], env=os.environ | environment, stdout=log, stderr=log
        )
    try:
        yield worker
    finally:
        worker.terminate()
        worker.wait(120)


@dataclass
class Memory:
    samples: list[float] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """Between the second and the last quarter: the first one draws the letter."""
        quarter = max(len(self.samples) // 4, 1)
        second, last = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        return statistics.median(last) - statistics.median(second or last)


@dataclass
class Run:
    folder: Path
    environment: dict[str, str]
    server: MailServer
    sites: Sites
    service: Service
    options: argparse.Namespace

    async def one_worker(self) -> list[Row]:
        clients = OtherTenant(self.service.port, self.sites.small_key)
        quiet, starting, busy, memory = Calls(), Calls(), Calls(), Memory()
        await _during(clients, Calls(), asyncio.sleep(2))
        await _during(clients, quiet, asyncio.sleep(self.options.quiet_seconds))
        with _working(self.folder, self.environment) as worker:
            await asyncio.sleep(WORKER_SECONDS)
            began = time.perf_counter()
            mailing = await _during(clients, starting, self._start(self.sites.post_ids[0]))
            seconds = time.perf_counter() - began
            if self.options.start_only:
                await asyncio.to_thread(self._call, "POST", f"/{mailing['id']}/cancel")
                return self._of_start(mailing, seconds, starting)
            spent = await _during(clients, busy, self._follow(mailing, [worker], memory))
            await _during(clients, quiet, asyncio.sleep(self.options.quiet_seconds))
        arrivals = self.server.take()
        return [
            *self._of_start(mailing, seconds, starting),
            *self._of_send(arrivals, spent, memory),
            *_of_clients(quiet, busy),
            *self._of_accounts("one worker", mailing, arrivals),
        ]

    async def two_workers(self) -> list[Row]:
        with (
            _working(self.folder, self.environment) as first,
            _working(self.folder, self.environment) as second,
        ):
            await asyncio.sleep(WORKER_SECONDS)
            mailing = await self._start(self.sites.post_ids[1])
            await self._follow(mailing, [first, second], Memory())
        arrivals = self.server.take()
        rate = arrivals.number / max(arrivals.seconds, 0.001)
        return [
            Row("two workers: emails a second", f"{rate:,.0f}"),
            *self._of_accounts("two workers", mailing, arrivals),
        ]

    async def _start(self, post_id: str) -> dict[str, Any]:
        """Until its recipients are fixed."""
        made = await asyncio.to_thread(self._call, "POST", "", {"post_id": post_id})
        while made["status"] == "scheduled":
            await asyncio.sleep(SAMPLE_SECONDS)
            made = await self._state(made)
        return made

    async def _state(self, mailing: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._call, "GET", f"/{mailing['id']}")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {
            "Host": f"{BIG}.localhost:{self.service.port}",
            "Authorization": f"Bearer {self.sites.big_key}",
        }
        url = f"/api/v1/mailings{path}"
        answer = call(self.service.port, method, url, body, headers)
        found: dict[str, Any] = answer.get("data", answer)
        return found

    async def _follow(
        self, mailing: dict[str, Any], workers: Sequence[subprocess.Popen[bytes]], memory: Memory
    ) -> float:
        """Until it has ended; returns the processor seconds of the workers."""
        pids, before = [each.pid for each in workers], 0.0
        async with asyncio.timeout(MOST_SECONDS):
            while True:
                await asyncio.sleep(SAMPLE_SECONDS)
                for each in workers:
                    if each.poll() is not None:
                        raise RuntimeError((self.folder / "worker.log").read_text()[-2000:])
                memory.samples.append(process.pss_megabytes(pids[0]))
                spent, arrived = process.processor_seconds(pids), self.server.number()
                # The start of the process is no part of the send.
                before = before or spent
                if arrived >= self.options.members:
                    break
            while (await self._state(mailing))["status"] == "sending":
                await asyncio.sleep(SAMPLE_SECONDS)
        return spent - before

    def _of_start(self, mailing: dict[str, Any], seconds: float, calls: Calls) -> list[Row]:
        longest = max(calls.took(WRITE), default=0.0)
        number = mailing["recipients"]
        return [
            Row("recipients fixed", f"{number:,} in {seconds:.2f} s"),
            Row(
                "longest write of another site meanwhile",
                f"{longest * 1000:,.0f} ms",
                "<= 1,000 ms",
                longest <= 1,
            ),
        ]

    def _of_send(self, arrivals: Arrivals, spent: float, memory: Memory) -> list[Row]:
        rate = arrivals.number / max(arrivals.seconds, 0.001)
        peak, growth = max(memory.samples), memory.growth
        return [
            Row("emails a second", f"{rate:,.0f}", f">= {LEAST_RATE}", rate >= LEAST_RATE),
            Row("worker's processor time per email", f"{spent / arrivals.number * 1000:.2f} ms"),
            Row("largest email", f"{arrivals.largest_bytes / 1000:.1f} kB"),
            Row("worker's memory, peak", f"{peak:.0f} MB", "< 200 MB", peak < MOST_MEGABYTES),
            Row(
                "worker's memory, growth",
                f"{growth:+.1f} MB",
                f"<= {MOST_GROWTH} MB",
                growth <= MOST_GROWTH,
            ),
        ]

    def _of_accounts(self, name: str, mailing: dict[str, Any], arrivals: Arrivals) -> list[Row]:
        state = self._call("GET", f"/{mailing['id']}")
        wanted = self.options.members
        counted = f"{state['status']}, {state['sent']:,} of {state['recipients']:,}"
        is_whole = state["status"] == "sent" and state["sent"] == state["recipients"] == wanted
        missed = wanted - len(arrivals.recipients)
        return [
            Row(f"{name}: mailing", counted, f"sent, {wanted:,}", is_whole),
            Row(f"{name}: missed", f"{missed:,}", "0", missed == 0),
            Row(
                f"{name}: most to one recipient",
                str(arrivals.most_to_one),
                "1",
                arrivals.most_to_one == 1,
            ),
        ]


async def _during(clients: OtherTenant, calls: Calls, work: Any) -> Any:
    over = asyncio.Event()
    using = asyncio.create_task(clients.use(over, calls))
    try:
        return await work
    finally:
        over.set()
        await using


def _of_clients(quiet: Calls, busy: Calls) -> Iterator[Row]:
    for kind in (READ, WRITE):
        before, during = milliseconds(quiet.took(kind)), milliseconds(busy.took(kind))
        times = during["p99_ms"] / before["p99_ms"]
        yield Row(
            f"another site's p99, {kind}",
            f"{during['p99_ms']:.1f} ms ({before['p99_ms']:.1f} without, {times:.2f} times; "
            f"p50 {during['p50_ms']:.1f} and {before['p50_ms']:.1f})",
            f"<= {MOST_TIMES} times",
            times <= MOST_TIMES,
        )


def table(rows: Sequence[Row]) -> str:
    met = {True: "yes", False: "NO", None: ""}
    lines = [
        ["measured", "figure", "target", "met"],
        *([row.name, row.value, row.target, met[row.is_met]] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


if __name__ == "__main__":
    main()
