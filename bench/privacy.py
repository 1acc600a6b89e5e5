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
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import msgspec
import sqlalchemy as sa

from masthead import clock
from masthead.app import Parts, bring_up_to_date, build, http_app
from masthead.caller import system
from masthead.events.outbox import events
from masthead.identity.plans import Plan
from masthead.identity.setup import CreatedTenant, NewTenant, create_tenant
from masthead.ids import TenantId, new_id
from masthead.media.collection import media
from masthead.members.collection import blog_members
from masthead.posts.collection import posts
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import archive_key
from masthead.records.collection import Collection, Record
from masthead.schema import tables
from masthead.settings import Settings
from masthead.site.collection import site_settings
from masthead.storage.compaction import compact
from masthead.storage.database import scope_of

DOMAIN = "erased.example"
FILE_BYTES = 8 * 1024 * 1024
BATCH = 2_000
PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class Size:
    posts: int
    members: int
    media_mb: int


class Memory:
    """The most this process used while it was watched, in MB above where it began.

    Without pages of mapped files: SQLite maps up to 256 MB of the database, which the kernel lends
    and takes back as it likes.
    """

    def __init__(self) -> None:
        self.began = _resident_mb()
        self.peak = self.began

    async def watch(self) -> None:
        while True:
            self.peak = max(self.peak, _resident_mb())
            await asyncio.sleep(0.05)

    @property
    def growth(self) -> float:
        return max(self.peak, _resident_mb()) - self.began


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    (anonymous,) = [line.split()[1] for line in lines if line.startswith("RssAnon:")]
    return int(anonymous) / 1024


async def seed(parts: Parts, tenant_id: TenantId, size: Size) -> None:
    words = "<p>" + "Some words of an ordinary post. " * 60 + "</p>"
    now = clock.to_text(clock.now())
    await _insert(
        parts,
        tenant_id,
        blog_members,
        ({"email": f"member{n}@{DOMAIN}", "name": f"Member {n}"} for n in range(size.members)),
    )
    await _insert(
        parts,
        tenant_id,
        posts,
        (
            {"title": f"Post {n}", "slug": f"post-{n}", "content_html": words}
            for n in range(size.posts)
        ),
    )
    await _insert_rows(
        parts,
        tenant_id,
        events,
        (
            {
                "tenant_id": tenant_id,
                "version": 1_000 + n,
                "ordinal": 0,
                "id": new_id(),
                "name": "member.subscribed",
                "collection": "blog_members",
                "record_id": new_id(),
                "payload": msgspec.json.encode({"email": f"member{n}@{DOMAIN}"}).decode(),
                "created": now,
            }
            for n in range(size.members)
        ),
    )
    content = os.urandom(FILE_BYTES)
    for number in range(size.media_mb * 2**20 // FILE_BYTES):
        record_id, name = new_id(), f"film-{number}.mp4"
        key = f"{tenant_id}/media/{record_id}/{name}"
        await parts.objects.put(key, content)
        row = {"id": record_id, "file": name, "filename": name, "mime_type": "video/mp4"}
        await _insert(parts, tenant_id, media, iter([row]))


async def _insert(
    parts: Parts, tenant_id: TenantId, collection: Collection, values: Iterator[Record]
) -> None:
    blank = {each.name: each.encode(each.default_value()) for each in collection.fields}
    now = clock.to_text(clock.now())
    common = {**blank, "tenant_id": tenant_id, "created": now, "updated": now, "version": 1}
    rows = ({**common, "id": new_id(), **each} for each in values)
    await _insert_rows(parts, tenant_id, tables[collection.name], rows)


async def _insert_rows(
    parts: Parts, tenant_id: TenantId, table: sa.Table, rows: Iterator[dict[str, Any]]
) -> None:
    statement = parts.database.compile(sa.insert(table))
    while batch := [statement.bind(each) for each in islice(rows, BATCH)]:
        async with parts.database.transaction(scope_of(tenant_id)) as tx:
            await tx.execute_many(statement, batch)


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
    return request, f"tenant export: {took:.1f} s, memory grew by {memory.growth:.1f} MB"


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
    """Another tenant's reader and writer, who should not notice."""

    def __init__(self, parts: Parts, tenant: CreatedTenant) -> None:
        self._parts = parts
        self._tenant = tenant
        transport = httpx.ASGITransport(http_app(parts))
        base = f"http://{tenant.slug}.localhost"
        self._client = httpx.AsyncClient(transport=transport, base_url=base)

    async def p99(self, seconds: float, stop: asyncio.Event | None = None) -> tuple[float, float]:
        """Of reads and writes, in milliseconds."""
        reads, writes = [], []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until and not (stop and stop.is_set()):
            began = time.perf_counter()
            answer = await self._client.get("/api/collections/posts/records?perPage=20")
            assert answer.status_code == 200
            reads.append(time.perf_counter() - began)
            began = time.perf_counter()
            values = {"title": "A neighbour's post", "status": "published"}
            await self._parts.records.create(system(self._tenant.tenant_id), posts, values)
            writes.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE_SECONDS)
        return _p99(reads), _p99(writes)


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[-1] * 1000


async def measure_erasure(parts: Parts, tenant_id: TenantId, neighbour: Neighbour) -> list[str]:
    quiet = await neighbour.p99(10)
    request = await request_about(parts, tenant_id, "delete")
    stop = asyncio.Event()
    watching = asyncio.create_task(neighbour.p99(3600, stop))
    began = time.perf_counter()
    while not await parts.privacy.erasure.run(request):
        (request,) = await parts.records.find(gdpr_requests, {"id": request["id"]})
    took = time.perf_counter() - began
    stop.set()
    busy = await watching
    return [
        f"erasure: {took:.1f} s",
        *(
            f"neighbour's {what} p99: {before:.1f} ms quiet, {during:.1f} ms during "
            f"({during / before:.1f} times)"
            for what, before, during in zip(("read", "write"), quiet, busy, strict=True)
        ),
    ]


def left_over(folder: Path) -> str:
    needle, count = f"@{DOMAIN}".encode(), 0
    for path in folder.rglob("*"):
        if path.is_file():
            count += path.read_bytes().count(needle)
    return f"addresses left in the database files and the media store: {count}"


async def run(folder: Path, url: str | None, size: Size) -> None:
    environ = {"MASTHEAD_SECRET_KEY": "b" * 40, "MASTHEAD_BASE_URL": "http://localhost"}
    settings = Settings.from_environ(environ, data_dir=folder, database_url=url)
    await bring_up_to_date(settings)
    parts = await build(settings)
    big, small = [
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
        for slug in ("big", "small")
    ]
    began = time.perf_counter()
    await seed(parts, big.tenant_id, size)
    _say(f"{parts.database.name}: {size} seeded in {time.perf_counter() - began:.0f} s")
    request, line = await measure_export(parts, big.tenant_id)
    _say(line)
    _say(await asyncio.to_thread(check_archive, folder / "media" / archive_key(request)))
    _say(await measure_member(parts, big.tenant_id))
    for line in await measure_erasure(parts, big.tenant_id, Neighbour(parts, small)):
        _say(line)
    await parts.close()
    began = time.perf_counter()
    await compact(settings.database_url)
    _say(f"compaction: {time.perf_counter() - began:.1f} s")
    _say(await asyncio.to_thread(left_over, folder))


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=50_000)
    parser.add_argument("--media-mb", type=int, default=2048)
    parser.add_argument("--database-url", help="PostgreSQL; without it a new SQLite file")
    given = parser.parse_args()
    size = Size(given.posts, given.members, given.media_mb)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), given.database_url, size))


if __name__ == "__main__":
    main()
