"""`python -m bench.privacy`: exports and erases a large site, and measures another tenant.

The erasure runs in the worker of a server, while clients call the API of another tenant, in turns
with and without the erasure. Afterwards the files are searched for the erased addresses.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from bench import process
from bench.privacy_clients import Calls, OtherTenant, Phases, compared
from bench.privacy_data import BIG, DOMAIN, Size, seed, tenant_of
from bench.privacy_folders import DataFolder, copy_data, opened
from bench.privacy_server import ENDED
from masthead.base import clock
from masthead.base.caller import Caller, Kind, system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.features.members.collection import blog_members
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.export import archive_key
from masthead.features.privacy.jobs import COMPACT_JOB
from masthead.features.privacy.links import GRACE_PERIOD
from masthead.features.privacy.requests import ERASE_JOB
from masthead.features.privacy.validation import TENANT, RequestBody, Requester
from masthead.service.services import Services, bring_up_to_date, build
from masthead.storage.database import EVERY_TENANT

STEPS = ("seed", "export", "erase")
SAMPLE_SECONDS = 0.1
SETTLE_SECONDS = 1.5
"""After a turn, until the WAL is checkpointed."""
BLOCK = 1 << 20

Result = dict[str, Any]


class Memory:
    """The peak memory of this process, in MB above the start."""

    def __init__(self) -> None:
        self._start = _resident()
        self._peak = self._start

    async def watch(self) -> None:
        while True:
            self._sample()
            await asyncio.sleep(0.05)

    def _sample(self) -> None:
        self._peak = {name: max(peak, _resident()[name]) for name, peak in self._peak.items()}

    def grown(self) -> Result:
        self._sample()
        grown = {name: self._peak[name] - start for name, start in self._start.items()}
        return {
            "resident_mb": round(grown["VmRSS"], 1),
            "without_pages_of_files_mb": round(grown["RssAnon"], 1),
        }


def _resident() -> dict[str, float]:
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}


# The export


async def measure_export(site: DataFolder) -> Result:
    async with _parts(site) as parts:
        tenant_id = await tenant_of(parts, BIG)
        stamped = {"type": "export", "subject": "tenant", "asked_by": "session"}
        request = await parts.records.create(system(tenant_id), gdpr_requests, {}, stamped=stamped)
        memory = Memory()
        watching = asyncio.create_task(memory.watch())
        began = time.perf_counter()
        await parts.privacy.exports.build(request, "")
        took = time.perf_counter() - began
        watching.cancel()
        archive = site.folder / "media" / archive_key(request)
        return {
            "seconds": round(took, 1),
            **memory.grown(),
            **await asyncio.to_thread(check_archive, archive),
            "member_median_ms": await _member_export_ms(parts, tenant_id),
        }


def check_archive(path: Path) -> Result:
    with zipfile.ZipFile(path) as archive:
        manifest = msgspec.json.decode(archive.read("manifest.json"))
        described = [*manifest["collections"], *manifest["files"]]
        for each in described:
            digest = hashlib.sha256()
            with archive.open(each["path"]) as entry:
                while chunk := entry.read(BLOCK):
                    digest.update(chunk)
            assert digest.hexdigest() == each["sha256"], each["path"]
    return {
        "archive_mb": round(path.stat().st_size / 2**20),
        "records": sum(each["records"] for each in manifest["collections"]),
        "files": len(manifest["files"]),
        "matching_checksums": len(described),
    }


async def _member_export_ms(parts: Services, tenant_id: TenantId) -> float:
    found = await parts.records.find(blog_members, {}, tenant_id=tenant_id, limit=20)
    took = []
    for member in found:
        began = time.perf_counter()
        await parts.privacy.exports.member_document(tenant_id, member)
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1000, 2)


# The erasure


async def measure_erasure(site: DataFolder, turn_seconds: float) -> Result:
    async with _parts(site) as parts:
        request = await _due_deletion(site)
        with _server(site) as server:
            erasure = MeasuredErasure(parts, request, server, turn_seconds)
            clients = OtherTenant(server.port, site.key.read_text())
            await erasure.run(clients)
    turns, phases = erasure.turns, erasure.phases
    return {
        "seconds": round(sum(ended - began for began, ended in turns), 1),
        "turns": len(turns),
        "erased": phases.erased,
        "phase_seconds": {name: round(took, 1) for name, took in phases.seconds(turns).items()},
        "calls": compared(erasure.quiet, erasure.busy, phases),
    }


async def _due_deletion(site: DataFolder) -> Record:
    """Requested by the owner before the grace period."""

    def then() -> Any:
        return clock.now() - GRACE_PERIOD - timedelta(minutes=1)

    parts = await build(site.settings, now=then)
    try:
        tenant_id = await tenant_of(parts, BIG)
        tenant = await parts.directory.by_id(tenant_id)
        assert tenant is not None
        owner = Caller(Kind.OWNER, tenant_id=tenant_id)
        body = RequestBody(TENANT, "", tenant_id, BIG, "", "")
        requester = Requester(tenant, owner, is_trusted=True)
        return (await parts.privacy.requests.open_deletion(requester, body)).request
    finally:
        await parts.close()


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    log: Path
    port: int

    def begin(self) -> None:
        self.process.send_signal(signal.SIGUSR1)

    def finish(self) -> None:
        self.process.send_signal(signal.SIGUSR2)

    def ends(self) -> int:
        return self.log.read_bytes().count(ENDED.encode())


@contextmanager
def _server(site: DataFolder) -> Iterator[Server]:
    port = process.free_port()
    command = [sys.executable, "-m", "bench.privacy_server", str(port)]
    log = site.folder.with_name(f"{site.folder.name}.log")
    log.unlink(missing_ok=True)
    with process.running(command, port, log, site.environment) as server:
        yield Server(server, log, port)


class MeasuredErasure:
    """The clients of the other tenant, in turns with and without the erasure."""

    def __init__(
        self, parts: Services, request: Record, server: Server, turn_seconds: float
    ) -> None:
        self._turn_seconds = turn_seconds
        self._parts = parts
        self._request_id = request["id"]
        self._server = server
        self._waiting_jobs = parts.database.compile(
            sa.text("SELECT error FROM jobs WHERE kind = :compact OR kind = :erase")
        )
        self.quiet, self.busy, self.phases = Calls(), Calls(), Phases()
        self.turns: list[tuple[float, float]] = []

    async def run(self, clients: OtherTenant) -> None:
        await self._turn(clients, Calls(), asyncio.sleep(self._turn_seconds))
        while not await self._is_over():
            await self._turn(clients, Calls(), asyncio.sleep(SETTLE_SECONDS))
            await self._turn(clients, self.quiet, asyncio.sleep(self._turn_seconds))
            began = time.perf_counter()
            await self._turn(clients, self.busy, self._erase_for_a_turn())
            self.turns.append((began, time.perf_counter()))

    async def _turn(self, clients: OtherTenant, calls: Calls, while_: Any) -> None:
        over = asyncio.Event()
        using = asyncio.create_task(clients.use(over, calls))
        await while_
        over.set()
        await using

    async def _erase_for_a_turn(self) -> None:
        ended = self._server.ends()
        self._server.begin()
        # The worker finishes its current job, so a turn has at least one batch.
        until, is_finishing = time.perf_counter() + self._turn_seconds, False
        while self._server.ends() == ended:
            if not is_finishing and (time.perf_counter() > until or await self._is_over()):
                self._server.finish()
                is_finishing = True
            await self._record_phase()
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _record_phase(self) -> None:
        (request,) = await self._parts.records.find(gdpr_requests, {"id": self._request_id})
        erased = (request["receipt"] or {}).get("erased", {})
        is_complete = request["status"] == "completed"
        self.phases.record(time.perf_counter(), erased, is_complete=is_complete)

    async def _is_over(self) -> bool:
        (request,) = await self._parts.records.find(gdpr_requests, {"id": self._request_id})
        bound = self._waiting_jobs.bind({"compact": COMPACT_JOB, "erase": ERASE_JOB})
        waiting = await self._parts.database.fetch(EVERY_TENANT, self._waiting_jobs, bound)
        errors = [error for (error,) in waiting if error]
        if errors:
            raise RuntimeError(f"a job failed: {errors}")
        return request["status"] == "completed" and not waiting


# Remaining addresses


async def remaining_addresses(site: DataFolder) -> Result:
    """In the files after the erasure, and after a vacuum by the operator."""
    before = await asyncio.to_thread(_addresses, site)
    began = time.perf_counter()
    await _vacuum(site)
    took = round(time.perf_counter() - began, 1)
    after = await asyncio.to_thread(_addresses, site)
    return {"after_the_worker": before, "after_a_vacuum": after, "vacuum_seconds": took}


async def _vacuum(site: DataFolder) -> None:
    if site.database_url is None:
        with closing(sqlite3.connect(site.folder / "masthead.db")) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return
    import asyncpg

    connection = await asyncpg.connect(site.database_url)
    await connection.execute("VACUUM FULL")
    await connection.execute("CHECKPOINT")
    await connection.close()


def _addresses(site: DataFolder) -> dict[str, int]:
    """The number of addresses by kind of file."""
    found = {"media": 0, "log": 0, "database": 0, "other": 0}
    for path in site.folder.rglob("*"):
        if path.is_file():
            found[_kind(path.relative_to(site.folder))] += _count(path)
    return found


def _kind(path: Path) -> str:
    if path.parts[0] == "media":
        return "media"
    if "pg_wal" in path.parts or path.name.endswith("-wal"):
        return "log"
    return "database" if path.parts[0] == "postgres" or path.suffix == ".db" else "other"


def _count(path: Path) -> int:
    needle, count, rest = f"@{DOMAIN}".encode(), 0, b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            rest += block
            count += rest.count(needle)
            rest = rest[-len(needle) + 1 :]
    return count


# The whole run


@asynccontextmanager
async def _parts(site: DataFolder) -> AsyncIterator[Services]:
    parts = await build(site.settings)
    try:
        yield parts
    finally:
        await parts.close()


async def _seed(site: DataFolder, size: Size) -> None:
    await bring_up_to_date(site.settings)
    async with _parts(site) as parts:
        key = await seed(parts, size)
    # Last, because it marks the data as complete.
    site.key.write_text(key)


async def _measure(site: DataFolder, steps: list[str], turn_seconds: float) -> Result:
    result: Result = {}
    await bring_up_to_date(site.settings)
    if "export" in steps:
        result["export"] = await measure_export(site)
        _print(result["export"])
    if "erase" in steps:
        result["erasure"] = await measure_erasure(site, turn_seconds)
        _print_erasure(result["erasure"])
        result["addresses_left"] = await remaining_addresses(site)
        _print(result["addresses_left"])
    return result


def _print_erasure(erasure: Result) -> None:
    _print({name: value for name, value in erasure.items() if name != "calls"})
    for row in erasure["calls"]:
        print(
            f"{row['call']:6} {row['phase']:22} {row['calls']:7} calls  "
            f"p50 {row['p50_ms']:7.2f} ms  p99 {row['p99_ms']:7.2f} ms  {row['times']:5.2f} times",
            flush=True,
        )


def _print(result: Result) -> None:
    print(json.dumps(result), flush=True)


def run(folder: Path, given: argparse.Namespace) -> None:
    seeded, copy = folder / "seeded", folder / "run"
    size = Size(given.posts, given.members, given.media_mb)
    if "seed" in given.steps:
        with opened(seeded, postgres=given.postgres) as site:
            if not site.key.exists():
                asyncio.run(_seed(site, size))
    if not {"export", "erase"} & set(given.steps):
        return
    copy_data(seeded, copy)
    with opened(copy, postgres=given.postgres) as site:
        result = asyncio.run(_measure(site, given.steps, given.turn))
    name = f"result-{'postgresql' if given.postgres else 'sqlite'}.json"
    (folder / name).write_text(json.dumps(result, indent=1) + os.linesep)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", default=STEPS, help="some of: " + " ".join(STEPS))
    parser.add_argument("--folder", type=Path, help="for the seeded data and the result")
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=50_000)
    parser.add_argument("--media-mb", type=int, default=2048)
    parser.add_argument("--postgres", action="store_true", help="instead of an SQLite file")
    parser.add_argument("--turn", type=float, default=6.0, help="seconds with and without it")
    given = parser.parse_args()
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        run(given.folder or Path(folder), given)


if __name__ == "__main__":
    main()
