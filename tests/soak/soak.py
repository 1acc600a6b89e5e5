"""Mixed traffic on many sites of one service, for as long as wanted, while time flies there.

First a single visitor does everything, for a tenth of the time: an idle service. Then all come.
"""

from __future__ import annotations

import asyncio
import math
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from bench.process import wait_until_calm
from tests.databases import fresh_sqlite_url
from tests.faults.installation import Installation, installed
from tests.faults.invariants import check, settle
from tests.faults.load import Load
from tests.soak.sites import Site, as_one, new_sites
from tests.soak.traffic import Crowd
from tests.soak.verdict import Run
from tests.soak.watch import Watch

from masthead.storage.urls import sqlite_path

SITES = 200
VISITORS = 40
PAUSE_SECONDS = 4.0
LISTENERS = 20
FASTER = 24
"""A day passes in an hour: so often in it, the clock goes an hour ahead."""
HOUR = 3600.0
IDLE_SHARE = 0.1
SAMPLES = 400


async def soak(minutes: float, folder: Path, seed: int, *, sites: int = SITES) -> Run:
    async with installed(fresh_sqlite_url(folder), folder) as first:
        first.start()
        all_ = await new_sites(first, sites, seed)
        try:
            return await _soak(minutes, first, all_, random.Random(seed))
        finally:
            for each in all_:
                await each.close()


async def _soak(minutes: float, first: Installation, sites: list[Site], rng: random.Random) -> Run:
    for each in sites:
        each.clock_jumps = True
    seconds = minutes * 60
    await asyncio.to_thread(wait_until_calm, first.pid)
    shorten_wal(first)
    watch = Watch(first.pid, first.folder)
    watching = asyncio.create_task(watch.go_on(seconds / SAMPLES))
    idle_from = time.perf_counter()
    alone = Crowd(sites, 1, 0.0, 0, rng)
    alone.come()
    await asyncio.sleep(seconds * IDLE_SHARE)
    await alone.leave()
    crowd = Crowd(sites, VISITORS, PAUSE_SECONDS, LISTENERS, rng)
    began = time.perf_counter()
    crowd.come()
    hours = math.ceil(seconds * FASTER / HOUR)
    for hour in range(hours):
        first.move_clock(hour * HOUR)
        await asyncio.sleep(seconds / hours)
    ended = time.perf_counter()
    await crowd.leave()
    watching.cancel()
    problems = [*alone.problems, *crowd.problems]
    await settle(first)
    whole = Load(first, 0)
    whole.ledger = as_one(sites)
    found = await check(first, whole)
    watch.look()
    return Run(
        minutes,
        len(sites),
        began,
        ended,
        watch.samples,
        whole.ledger,
        idle_from,
        crowd.heard,
        crowd.cut_off,
        len(first.postbox.letters),
        len(first.receiver.requests),
        found.records,
        found.losses,
        problems,
    )


def shorten_wal(site: Installation) -> None:
    """It keeps the length that it got while sites were made as fast as possible."""
    path = sqlite_path(site.environ["MASTHEAD_DATABASE_URL"])
    assert path is not None
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
