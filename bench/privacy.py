"""`python -m bench.privacy`: exports and erases a large site, while clients with a key use another
one, and then searches the files for the erased addresses. Exits with 1 if a goal is missed."""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import uvloop

from bench import process
from bench.special import (
    Figure,
    Place,
    api_client,
    fill,
    finish,
    growths,
    new_neighbour,
    new_site,
    options,
    place,
    some_posts,
)
from masthead.base import clock
from masthead.base.caller import Caller, Kind, system
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.collection import Record
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.export import archive_key
from masthead.features.privacy.links import GRACE_PERIOD
from masthead.features.privacy.validation import TENANT, RequestBody, Requester
from masthead.service.services import Services, build

SITE, DOMAIN = "big", "erased.example"
MOST_TIMES: Final = 2
MOST_MEGABYTES: Final = 50
FILE_BYTES: Final = 8 * 1024 * 1024
_BLOCK: Final = 1 << 20


def main() -> None:
    given = options(
        "privacy", __doc__, posts=100_000, members=50_000, comments=20_000, media=256, quiet=10.0
    )
    with place(given.engine) as installed:
        finish(measured(installed, given))


def measured(installed: Place, given: argparse.Namespace) -> list[Figure]:
    tenant_id, key = installed.make(lambda parts: seed(parts, given))
    figures = installed.make(lambda parts: exported(parts, tenant_id, installed.folder))
    with installed.serving() as (port, pid):
        other = api_client(port, key)
        other.quiet(2.0)
        quiet = other.quiet(given.quiet)
        began = time.monotonic()
        busy = other.during(lambda: uvloop.run(_erase(installed, tenant_id)))
        figures.append(Figure("the erasure", time.monotonic() - began, "s"))
        # The search index is compacted after it.
        process.wait_until_calm(pid)
        figures += growths(quiet, busy, MOST_TIMES, "during the erasure")
    if not installed.is_postgres:
        with closing(sqlite3.connect(installed.folder / "masthead_1.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        # PostgreSQL leaves the rows in free pages until a VACUUM FULL: see docs/privacy.md.
        figures.append(Figure("addresses in the files", _addresses(installed.folder), most=0))
    return figures


async def seed(parts: Services, given: argparse.Namespace) -> tuple[TenantId, str]:
    tenant_id = await new_site(parts, SITE)
    addresses = [f"member{number}@{DOMAIN}" for number in range(given.members)]
    await fill(parts, tenant_id, blog_members, ({"email": each} for each in addresses))
    await fill(parts, tenant_id, posts, some_posts(given.posts))
    [post] = await parts.records.find(posts, {}, tenant_id=tenant_id, limit=1)
    said = (
        {
            "post_id": post["id"],
            "author_name": "A member",
            "author_email": addresses[number % len(addresses)],
            "body": f"Write to me: {addresses[number % len(addresses)]}",
        }
        for number in range(given.comments)
    )
    await fill(parts, tenant_id, comments, said)
    content = os.urandom(FILE_BYTES)
    for number in range(given.media):
        record_id, name = new_id(), f"film-{number}.mp4"
        await parts.objects.put(f"{tenant_id}/media/{record_id}/{name}", content)
        stamped = {"filename": name, "mime_type": "video/mp4", "size": FILE_BYTES}
        values = {"id": record_id, "file": name}
        await parts.records.create(system(tenant_id), media, values, stamped=stamped)
    return tenant_id, await new_neighbour(parts)


async def exported(parts: Services, tenant_id: TenantId, folder: Path) -> list[Figure]:
    stamped = {"type": "export", "subject": "tenant", "asked_by": "session"}
    request = await parts.records.create(system(tenant_id), gdpr_requests, {}, stamped=stamped)
    before, began = _peak_megabytes(), time.monotonic()
    await parts.privacy.exports.build(request, "")
    took = time.monotonic() - began
    archive = folder / "data" / "media" / archive_key(request)
    return [
        Figure("the export", took, "s"),
        Figure("its archive", archive.stat().st_size / 2**20, "MB"),
        Figure("its memory", _peak_megabytes() - before, "MB", most=MOST_MEGABYTES),
    ]


def _peak_megabytes() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


async def _erase(installed: Place, tenant_id: TenantId) -> None:
    """Asks for it before the grace period; the worker of the server erases."""

    def then() -> Any:
        return clock.now() - GRACE_PERIOD - timedelta(minutes=1)

    parts = await build(installed.settings, now=then)
    try:
        tenant = await parts.directory.by_id(tenant_id)
        assert tenant is not None
        owner = Caller(Kind.OWNER, tenant_id=tenant_id)
        body = RequestBody(TENANT, "", tenant_id, SITE, "", "")
        requester = Requester(tenant, owner, is_trusted=True)
        request: Record = (await parts.privacy.requests.open_deletion(requester, body)).request
        while request["status"] != "completed":
            time.sleep(0.2)
            [request] = await parts.records.find(gdpr_requests, {"id": request["id"]})
    finally:
        await parts.close()


def _addresses(folder: Path) -> int:
    needle, count = f"@{DOMAIN}".encode(), 0
    for path in filter(Path.is_file, folder.rglob("*")):
        # An email that was sent stays in its mailbox, which is a file here.
        if path.suffix == ".eml":
            continue
        with path.open("rb") as file:
            rest = b""
            while block := file.read(_BLOCK):
                rest += block
                count += rest.count(needle)
                rest = rest[-len(needle) + 1 :]
    return count


if __name__ == "__main__":
    main()
