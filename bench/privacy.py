"""`python -m bench.privacy`: exporting and erasing a large tenant, and what others notice of it.

Everything runs in one process and one event loop, the worst case: the erasure, the requests of
another tenant and the clock that measures them share it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import statistics
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import msgspec

from masthead import clock
from masthead.app import Parts, bring_up_to_date, build, http_app
from masthead.caller import system
from masthead.identity.accounts import account_caller
from masthead.identity.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import superusers, tenants
from masthead.ids import TenantId, new_id
from masthead.jobs.runner import Job
from masthead.media.collection import media
from masthead.members.collection import blog_members
from masthead.posts.collection import posts
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import archive_key
from masthead.privacy.jobs import COMPACT_JOB
from masthead.records.collection import Collection, Record
from masthead.settings import Settings
from masthead.site.collection import site_settings

DOMAIN = "erased.example"
FILE_BYTES = 8 * 1024 * 1024
BATCH = 200
PAUSE_SECONDS = 0.01
TURN_SECONDS = 5.0
STEPS = ("seed", "export", "erase", "compact")
TENANTS = ("big", "small")
NEIGHBOURS_POSTS = 1_000
POST = {"title": "A neighbour's post", "status": "published", "content_html": "<p>Words.</p>"}


@dataclass(frozen=True)
class Size:
    posts: int
    members: int
    media_mb: int


class Memory:
    """The most this process used while it was watched, in MB above where it began."""

    def __init__(self) -> None:
        self._began = _resident()
        self._most = self._began

    async def watch(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(0.05)

    def _look(self) -> None:
        self._most = {name: max(most, _resident()[name]) for name, most in self._most.items()}

    def told(self) -> str:
        self._look()
        grown = {name: self._most[name] - began for name, began in self._began.items()}
        return (
            f"resident memory grew by {grown['VmRSS']:.1f} MB, "
            f"{grown['RssAnon']:.1f} MB without pages of files"
        )


def _resident() -> dict[str, float]:
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}


async def seed(parts: Parts, tenant_id: TenantId, size: Size) -> None:
    words = "<p>" + "Some words of an ordinary post. " * 60 + "</p>"
    await _create(
        parts,
        tenant_id,
        blog_members,
        ({"email": f"member{n}@{DOMAIN}", "name": f"Member {n}"} for n in range(size.members)),
    )
    await _create(
        parts,
        tenant_id,
        posts,
        (
            {
                "title": f"Post {n}",
                "slug": f"post-{n}",
                "content_html": words,
                "status": "published",
                "tags": [f"tag {n % 100}", "everything"],
            }
            for n in range(size.posts)
        ),
    )
    content = os.urandom(FILE_BYTES)
    for number in range(size.media_mb * 2**20 // FILE_BYTES):
        record_id, name = new_id(), f"film-{number}.mp4"
        await parts.objects.put(f"{tenant_id}/media/{record_id}/{name}", content)
        values = {"id": record_id, "file": name}
        stamped = {"filename": name, "mime_type": "video/mp4", "size": FILE_BYTES}
        await parts.records.create(system(tenant_id), media, values, stamped=stamped)


async def _create(
    parts: Parts, tenant_id: TenantId, collection: Collection, values: Iterator[Record]
) -> None:
    """Through the engine: with events, totals, tags and words to search for."""
    while batch := list(islice(values, BATCH)):
        async with parts.records.unit(system(tenant_id)) as unit:
            for each in batch:
                await unit.create(collection, each)


async def request_about(parts: Parts, tenant_id: TenantId, kind: str, **values: Any) -> Record:
    now = clock.to_text(parts.records.clock() - timedelta(seconds=1))
    stamped = {
        "type": kind,
        "subject": "tenant",
        "asked_by": "session",
        "confirmed_at": now,
        "grace_until": now,
        **values,
    }
    return await parts.records.create(system(tenant_id), gdpr_requests, {}, stamped=stamped)


async def measure_export(parts: Parts, tenant_id: TenantId) -> tuple[Record, str]:
    request = await request_about(parts, tenant_id, "export")
    memory = Memory()
    watching = asyncio.create_task(memory.watch())
    began = time.perf_counter()
    await parts.privacy.exports.build(request, "")
    took = time.perf_counter() - began
    watching.cancel()
    return request, f"tenant export: {took:.1f} s, {memory.told()}"


def check_archive(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        manifest = msgspec.json.decode(archive.read("manifest.json"))
        described = [*manifest["collections"], *manifest["files"]]
        for each in described:
            digest = hashlib.sha256()
            with archive.open(each["path"]) as entry:
                while chunk := entry.read(2**20):
                    digest.update(chunk)
            assert digest.hexdigest() == each["sha256"], each["path"]
    records = sum(each["records"] for each in manifest["collections"])
    return (
        f"archive: {path.stat().st_size / 2**20:.0f} MB, {records} records, "
        f"{len(manifest['files'])} files, all {len(described)} checksums match"
    )


async def measure_member(parts: Parts, tenant_id: TenantId) -> str:
    found = await parts.records.find(blog_members, {}, tenant_id=tenant_id, limit=20)
    took = []
    for member in found:
        began = time.perf_counter()
        await parts.privacy.exports.member_document(tenant_id, member)
        took.append(time.perf_counter() - began)
    return f"member export: median {statistics.median(took) * 1000:.1f} ms"


class Neighbour:
    """Another tenant's reader and writer, over HTTP, who should not notice."""

    def __init__(self, parts: Parts, slug: str, token: str) -> None:
        transport = httpx.ASGITransport(http_app(parts))
        self._client = httpx.AsyncClient(
            transport=transport,
            base_url=f"http://{slug}.localhost",
            headers={"authorization": f"Bearer {token}"},
        )

    async def use(self, seconds: float, took: Took) -> None:
        """Reads and writes for so long, and notes how long each took."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            answer = await self._client.get("/api/collections/posts/records?perPage=20")
            assert answer.status_code == 200
            took.reads.append(time.perf_counter() - began)
            began = time.perf_counter()
            answer = await self._client.post("/api/collections/posts/records", json=POST)
            assert answer.status_code == 200
            took.writes.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE_SECONDS)


@dataclass
class Took:
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[-1] * 1000


async def measure_erasure(
    parts: Parts, tenant_id: TenantId, neighbour: Neighbour, watch_seconds: float
) -> list[str]:
    """In turns with and without the erasure, so that whatever else the machine does hits both."""
    await neighbour.use(TURN_SECONDS, Took())  # warm
    request = await _open_deletion(parts, tenant_id)
    quiet, busy = Took(), Took()
    erasing, is_over = 0.0, False
    until = time.perf_counter() + watch_seconds
    while not is_over and time.perf_counter() < until:
        await neighbour.use(TURN_SECONDS, quiet)
        began = time.perf_counter()
        using = asyncio.create_task(neighbour.use(TURN_SECONDS, busy))
        is_over = await parts.privacy.erasure.run(request, slice_seconds=TURN_SECONDS)
        erasing += time.perf_counter() - began
        await using
        (request,) = await parts.records.find(gdpr_requests, {"id": request["id"]})
    erased = sum(request["receipt"]["erased"].values())
    return [
        f"erasure: {erased} rows and files, {erasing:.1f} s, {'' if is_over else 'not '}over",
        _compared("read", quiet.reads, busy.reads),
        _compared("write", quiet.writes, busy.writes),
    ]


def _compared(what: str, quiet: list[float], busy: list[float]) -> str:
    before, during = _p99(quiet), _p99(busy)
    return (
        f"neighbour's {what} p99: {before:.1f} ms quiet, {during:.1f} ms during "
        f"({during / before:.1f} times, {len(quiet)} and {len(busy)} of them); median "
        f"{statistics.median(quiet) * 1000:.1f} and {statistics.median(busy) * 1000:.1f} ms"
    )


async def _open_deletion(parts: Parts, tenant_id: TenantId) -> Record:
    """That of a run before this one, or a new one."""
    wanted = {"type": "delete", "status": "queued"}
    found = await parts.records.find(gdpr_requests, wanted, tenant_id=tenant_id)
    return found[0] if found else await request_about(parts, tenant_id, "delete")


def left_over(folder: Path) -> str:
    needle, count = f"@{DOMAIN}".encode(), 0
    for path in folder.rglob("*"):
        if path.is_file():
            count += path.read_bytes().count(needle)
    return f"addresses left in the database files and the media store: {count}"


async def run(folder: Path, given: argparse.Namespace) -> None:
    environ = {"MASTHEAD_SECRET_KEY": "b" * 40, "MASTHEAD_BASE_URL": "http://localhost"}
    settings = Settings.from_environ(environ, data_dir=folder, database_url=given.database_url)
    await bring_up_to_date(settings)
    parts = await build(settings)
    if "seed" in given.steps:
        await _seed_tenants(parts, Size(given.posts, given.members, given.media_mb))
    big, small = [(await parts.records.find(tenants, {"slug": slug}))[:1] for slug in TENANTS]
    if "export" in given.steps:
        request, line = await measure_export(parts, TenantId(big[0]["id"]))
        _say(line)
        _say(await asyncio.to_thread(check_archive, folder / "media" / archive_key(request)))
        _say(await measure_member(parts, TenantId(big[0]["id"])))
    if "erase" in given.steps:
        neighbour = await _neighbour(parts, TenantId(small[0]["id"]))
        lines = await measure_erasure(parts, TenantId(big[0]["id"]), neighbour, given.watch_seconds)
        for line in lines:
            _say(line)
    if "compact" in given.steps:
        began = time.perf_counter()
        job = Job(TenantId(""), "", COMPACT_JOB, {"has_words": True}, 1)
        await parts.privacy.work.handlers()[COMPACT_JOB](job)
        _say(f"compaction: {time.perf_counter() - began:.1f} s")
    await parts.close()
    if "compact" in given.steps:
        _say(await asyncio.to_thread(left_over, folder))


async def _seed_tenants(parts: Parts, size: Size) -> None:
    made = [
        await create_tenant(
            parts.records,
            site_settings,
            NewTenant(
                slug=slug,
                name=slug,
                plan=Plan.BUSINESS,
                owner_email=f"owner@{slug}.example",
                owner_password="correct horse battery",
            ),
        )
        for slug in TENANTS
    ]
    began = time.perf_counter()
    await seed(parts, made[0].tenant_id, size)
    await seed(parts, made[1].tenant_id, Size(NEIGHBOURS_POSTS, 0, 0))
    _say(f"{parts.database.name}: {size} seeded in {time.perf_counter() - began:.0f} s")


async def _neighbour(parts: Parts, tenant_id: TenantId) -> Neighbour:
    (owner,) = await parts.records.find(superusers, {}, tenant_id=tenant_id)
    session = await parts.accounts.refresh(superusers, account_caller(superusers, owner))
    assert session is not None
    return Neighbour(parts, TENANTS[1], session.token)


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", default=STEPS, help="some of: " + " ".join(STEPS))
    parser.add_argument("--folder", type=Path, help="kept, so that steps can be run one by one")
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=50_000)
    parser.add_argument("--media-mb", type=int, default=2048)
    parser.add_argument("--watch-seconds", type=float, default=3600, help="of the erasure")
    parser.add_argument("--database-url", help="PostgreSQL; without it an SQLite file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(given.folder or Path(folder), given))


if __name__ == "__main__":
    main()
