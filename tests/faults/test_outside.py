"""The mail server, the bucket, Redis, PostgreSQL and the sign-in provider are down, slow, cut off
and answer garbage while everything is written: the service answers what is documented, and does the
rest once they are back."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_postgres_url, fresh_sqlite_url, start_again, start_postgres_server
from tests.faults.installation import Installation, installed
from tests.faults.invariants import check, settle
from tests.faults.load import Load
from tests.faults.paths import PATHS
from tests.faults.report import note
from tests.faults.sign_in_load import add_provider, signing_in
from tests.faults.toxics import Proxy, Toxic, cut, garbage, reset, silence, slow, slow_close
from tests.features.single_sign_on.provider import Provider
from tests.object_stores import S3Server
from tests.redis_server import redis_url

from masthead.features.single_sign_on.discovery import AFTER_FAILURE, FRESH
from masthead.storage.migrate import migrate

TOXICS: Mapping[str, Toxic | None] = {
    "down": None,
    "slow": slow(0.2),
    "cut": cut,
    "reset": reset,
    "garbage": garbage,
    "slow close": slow_close(0.3),
    "silence": silence,
}
SECONDS = 3.0


async def suffer(
    site: Installation, load: Load, proxies: list[Proxy], toxics: list[str], seconds: float
) -> None:
    """Each toxic at each proxy for a while, under load; then all is well again."""
    tasks = await load.until(10)
    for name in toxics:
        for proxy in proxies:
            toxify(proxy, name)
        await bitten(proxies)
        await asyncio.sleep(seconds)
        for proxy in proxies:
            proxy.heal()
        await asyncio.sleep(seconds / 3)
    enough = load.ledger.acknowledged + 10
    async with asyncio.timeout(100):
        while load.ledger.acknowledged < enough:
            await asyncio.sleep(0.05)
    await load.finish(tasks)
    assert site.is_running


def toxify(proxy: Proxy, name: str) -> None:
    if name == "down":
        proxy.refuse()
    else:
        proxy.toxic = TOXICS[name]


async def bitten(proxies: list[Proxy]) -> None:
    """Waits until the service has come by at each."""
    before = [each.bitten for each in proxies]
    async with asyncio.timeout(60):
        while any(each.bitten == b for each, b in zip(proxies, before, strict=True)):
            await asyncio.sleep(0.02)


@pytest.mark.sweep
async def test_the_mail_server_fails(tmp_path: Path) -> None:
    async with Proxy("127.0.0.1", 1) as proxy:
        through = {"MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{proxy.port}"}
        await fail("mail server", tmp_path, proxy, through, mail=proxy)


@pytest.mark.sweep
async def test_the_bucket_fails(tmp_path: Path, s3_environ: S3Server) -> None:
    there = urlsplit(s3_environ.endpoint)
    async with Proxy("127.0.0.1", there.port or 0) as proxy:
        # The test looks at the bucket past the proxy.
        settings = {"MASTHEAD_STORAGE_URL": s3_environ.new_url(), **s3_environ.environ}
        through = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
        await fail("bucket", tmp_path, proxy, through, **settings)


@pytest.mark.sweep
async def test_redis_fails(tmp_path: Path) -> None:
    async with Proxy(redis_url().removeprefix("unix://"), 0) as proxy:
        through = {
            "MASTHEAD_REDIS_URL": f"redis://127.0.0.1:{proxy.port}",
            "MASTHEAD_RATE_LIMITS": "a",
        }
        await fail("Redis", tmp_path, proxy, through)


@pytest.mark.sweep
async def test_the_sign_in_provider_fails(tmp_path: Path) -> None:
    url = fresh_sqlite_url(tmp_path)
    async with (
        Proxy("127.0.0.1", 1) as proxy,
        installed(url, tmp_path) as site,
        Provider(site.authority, site.clock) as provider,
    ):
        # Everyone knows it by the address of the proxy.
        proxy.target_port, provider.receiver.port = provider.receiver.port, proxy.port
        await add_provider(site, provider.issuer)
        site.start()
        load = Load(site, random.randrange(2**32))
        load.clock_jumps = True
        load.paths = (*PATHS, signing_in(provider))
        tasks = await load.until(10)
        ahead = 0.0
        for name in TOXICS:
            await more_joined(load)
            toxify(proxy, name)
            # What it says of itself is asked for again.
            ahead += FRESH.total_seconds() + 1
            site.move_clock(ahead)
            await bitten([proxy])
            await asyncio.sleep(SECONDS)
            proxy.heal()
            ahead += AFTER_FAILURE.total_seconds() + 1
            site.move_clock(ahead)
        await more_joined(load)
        await load.finish(tasks)
        await settle(site)
        assert site.is_running
        assert load.ledger.answers["member 422"]
        found = await check(site, load)
        note(f"sign-in provider: {', '.join(TOXICS)}", "sqlite", len(TOXICS), load, found)
    assert found.losses == []


async def more_joined(load: Load) -> None:
    before = len(load.ledger.joined)
    async with asyncio.timeout(100):
        while len(load.ledger.joined) == before:
            await asyncio.sleep(0.02)


async def fail(
    name: str,
    folder: Path,
    proxy: Proxy,
    through: Mapping[str, str],
    *,
    mail: Proxy | None = None,
    **settings: str,
) -> None:
    url = fresh_sqlite_url(folder)
    async with installed(url, folder, through=through, mail=mail, **settings) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        await suffer(site, load, [proxy], list(TOXICS), SECONDS)
        await settle(site)
        found = await check(site, load)
        note(f"{name}: {', '.join(TOXICS)}", "sqlite", len(TOXICS), load, found)
    assert found.losses == []


@pytest.mark.sweep
async def test_postgresql_is_restarted(tmp_path: Path) -> None:
    """In good order, and at once, which it recovers from when it starts."""
    server = await asyncio.to_thread(start_postgres_server, durable=True)
    url = server.get_uri()
    await migrate(url)
    async with installed(url, tmp_path) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        for stop in (signal.SIGINT, signal.SIGQUIT) * 3:
            tasks = await load.until(30)
            postmaster = server.get_pid()
            os.kill(postmaster, stop)
            await ended(postmaster)
            await asyncio.to_thread(start_again, server)
            enough = load.ledger.acknowledged + 20
            async with asyncio.timeout(100):
                while load.ledger.acknowledged < enough:
                    await asyncio.sleep(0.05)
            await load.finish(tasks)
        # The test's own connections have ended, too.
        await site.world.parts.close()
        await site.reopen()
        await settle(site)
        assert site.is_running
        found = await check(site, load)
        note("PostgreSQL: restarted", "postgresql", 6, load, found)
    assert found.losses == []


async def ended(pid: int) -> None:
    async with asyncio.timeout(60):
        while psutil.pid_exists(pid):
            await asyncio.sleep(0.02)


@pytest.mark.sweep
async def test_postgresql_is_cut_off(tmp_path: Path) -> None:
    url = fresh_postgres_url()
    parts = urlsplit(url)
    folder = parse_qs(parts.query)["host"][0]
    async with Proxy(f"{folder}/.s.PGSQL.5432", 0) as proxy:
        through = {
            "MASTHEAD_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
        }
        async with installed(url, tmp_path, through=through) as site:
            site.start()
            load = Load(site, random.randrange(2**32))
            await suffer(
                site, load, [proxy], [each for each in TOXICS if each != "garbage"], SECONDS
            )
            # Half a minute without a database.
            await suffer(site, load, [proxy], ["down"], 30)
            await settle(site)
            found = await check(site, load)
            note("PostgreSQL: cut, slow, silent, 30 s without", "postgresql", 7, load, found)
    assert found.losses == []
