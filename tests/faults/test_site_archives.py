"""One whole site as a file, and back, while the programs that write and read it are killed at any
moment: a file is whole or not there, and a site is there once, with everything in it, or not at
all."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.faces.admin.visitor import BARE, hidden_in
from tests.faults.installation import Installation, installed
from tests.faults.invariants import Found, check, check_whole, free_leases, rows_of, settle
from tests.faults.ledger import Unacknowledged
from tests.faults.load import Load
from tests.faults.report import note
from tests.faults.service import OFFSET
from tests.forking import forked_program
from tests.service.cli.commands import plain_environment

from masthead.engine.records.collection import file_key
from masthead.faces.site_archive.header import read_site
from masthead.faces.site_archive.jobs import FILE_STAYS
from masthead.faces.site_archive.leftovers import ABANDONED_AFTER
from masthead.service.schema import registry, tables

pytestmark = pytest.mark.sweep

SIZE = 250
"""Acknowledged calls that make the site."""
KILLS = 4
"""Each export and import has so many."""
UPLOADS = 3
ADDRESS = "/admin/tenants/import"
COMPARED = {
    "posts": ("title", "slug", "status", "content_html", "published_at"),
    "tags": ("name",),
    "blog_members": ("email", "newsletter"),
    "media": ("alt", "file"),
}
"""With what is the same in a copy of a site."""


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_killing_exports_and_imports_of_a_site(engine: str, tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    async with installed(fresh_url(engine, tmp_path), tmp_path) as site:
        site.start()
        load = Load(site, seed)
        archive = tmp_path / "site.tar"
        kills = await _export_while_killed(site, load, archive)
        await settle(site)
        found = await check(site, load)
        archive.unlink()
        seconds = await _run(site, "export", "--tenant", site.tenant.slug, str(archive))
        expected, copies = await _content_of(site, site.tenant.slug), ["first"]
        seconds = await _run(site, "import", "--slug", "first", str(archive))
        for number in range(UPLOADS):
            copies.append(await _upload_while_killed(site, load, archive, f"up{number}", seconds))
            kills += KILLS
        site.stop()
        for number in range(KILLS):
            given = ("import", "--slug", f"own{number}", str(archive))
            kills += await _kill(site, load.rng.uniform(0, seconds), *given)
        await _run(site, "import", "--slug", "own", str(archive))
        copies.append("own")
        # Everything abandoned is removed by then.
        for wait in (ABANDONED_AFTER, FILE_STAYS):
            site.move_clock(_offset(site) + 2 * wait.total_seconds())
            site.start()
            await _until_nothing_is_hidden(site)
            await settle(site)
            site.stop()
        await _compare(site, expected, copies, found)
        await check_whole(site, found)
        load.ledger.ways["site archive"] = len(copies)
        note("kill -9 of exports and imports of a site", engine, kills, load, found)
    assert found.losses == []


async def _export_while_killed(site: Installation, load: Load, archive: Path) -> int:
    """The site is written to meanwhile."""
    await load.finish(await load.until(SIZE))
    given = ("export", "--replace", "--tenant", site.tenant.slug, str(archive))
    seconds = await _run(site, *given)
    kills = 0
    for _ in range(KILLS):
        tasks = await load.until(1)
        kills += await _kill(site, load.rng.uniform(0, seconds), *given)
        await load.finish(tasks)
        # The one before, or the new one.
        read_site(archive)
    return kills


async def _upload_while_killed(
    site: Installation, load: Load, archive: Path, slug: str, seconds: float
) -> str:
    """The service is killed while an operator uploads the file, then while it imports it. Returns
    the slug of the site that was acknowledged."""
    operator = await site.world.operator()
    attempt = 0
    while True:
        attempt += 1
        async with site.browser(operator.token) as browser:
            browser.headers["Host"] = BARE
            chosen = f"{slug}x{attempt}"
            sending = asyncio.create_task(_upload(browser, load, archive, chosen))
            if attempt == 1:
                await asyncio.sleep(load.rng.uniform(0, 1))
                site.kill()
            with suppress(Unacknowledged):
                await sending
                break
        site.start()
    for _ in range(KILLS):
        site.kill()
        free_leases(site)
        site.start()
        await asyncio.sleep(load.rng.uniform(0, 2 * seconds))
    await settle(site)
    return chosen


async def _upload(browser: httpx.AsyncClient, load: Load, archive: Path, slug: str) -> None:
    page = await load.call(browser, "GET", ADDRESS, (200,))
    form = {**hidden_in(page.text), "plan": "pro", "slug": slug}
    files = {"file": ("site.tar", archive.read_bytes())}
    await load.call(browser, "POST", ADDRESS, (303,), data=form, files=files)


async def _run(site: Installation, *arguments: str) -> float:
    """The seconds of a command that nobody kills."""
    began = time.perf_counter()
    process = _command(site, *arguments)
    assert await asyncio.to_thread(process.wait, 120) == 0
    return time.perf_counter() - began


async def _kill(site: Installation, seconds: float, *arguments: str) -> bool:
    """False if the command had ended before."""
    process = _command(site, *arguments)
    await asyncio.sleep(seconds)
    is_running = process.poll() is None
    # The fork of it ends with it.
    process.kill()
    await asyncio.to_thread(process.wait)
    return is_running


def _command(site: Installation, *arguments: str) -> subprocess.Popen[bytes]:
    given = {name: each for name, each in site.environ.items() if name != OFFSET}
    command = [forked_program(), "site", *arguments]
    return subprocess.Popen(
        command,
        env=plain_environment(**given),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _until_nothing_is_hidden(site: Installation) -> None:
    slug = tables["tenants"].c.slug
    async with asyncio.timeout(60):
        while await rows_of(site, sa.select(slug).where(slug.like("-importing-%"))):
            await asyncio.sleep(0.1)


async def _compare(
    site: Installation, expected: Counter[tuple[str, ...]], copies: list[str], found: Found
) -> None:
    t = tables["tenants"].c
    slugs = [slug for (slug,) in await rows_of(site, sa.select(t.slug))]
    for slug in copies:
        found.expect(slugs.count(slug) == 1, f"the site {slug} is there {slugs.count(slug)} times")
    for slug in slugs:
        content = await _content_of(site, slug)
        found.records += content.total()
        found.expect(content == expected, f"{slug}: {content - expected}, {expected - content}")
    left = [key async for key in site.world.parts.objects.list_keys("site-imports")]
    found.expect(left == [], f"uploads: {left}")


async def _content_of(site: Installation, slug: str) -> Counter[tuple[str, ...]]:
    t = tables["tenants"].c
    [(tenant_id,)] = await rows_of(site, sa.select(t.id).where(t.slug == slug))
    content: Counter[tuple[str, ...]] = Counter()
    for name, columns in COMPARED.items():
        c = tables[name].c
        query = sa.select(c.id, *(c[each] for each in columns)).where(c.tenant_id == tenant_id)
        for record_id, *values in await rows_of(site, query):
            row = [name, *map(str, values)]
            if name == "media":
                key = file_key(tenant_id, registry["media"], record_id, values[-1])
                stored = await site.world.parts.objects.get(key)
                digest = hashlib.sha256(b"".join([each async for each in stored.chunks]))
                row.append(digest.hexdigest())
            content[tuple(row)] += 1
    return content


def _offset(site: Installation) -> float:
    return float((site.folder / "offset").read_text())
