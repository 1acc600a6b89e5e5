"""The deep check, which ends tests that kill, cut off and race: nothing is lost, left over or
counted wrong."""

from __future__ import annotations

from datetime import timedelta

from tests.world import World

from masthead.base.clock import Clock
from masthead.base.config.settings import Settings
from masthead.service.deep_check.faults import Look
from masthead.service.deep_check.progress_file import Progress
from masthead.service.deep_check.run import DeepCheck
from masthead.service.services import build
from masthead.storage.snapshot import open_snapshots

LATER = timedelta(days=2)
"""Files are orphans only when they are a day old."""


async def deep_check(settings: Settings, now: Clock, named: str = "") -> Progress:
    """Finds what `masthead doctor --deep` does in two days, past what a test holds in memory."""
    parts = await build(settings, lambda: now() + LATER)
    try:
        async with open_snapshots(settings.database_url) as snapshots:
            progress = Progress(repairs=False, of_tenant=named)
            check = DeepCheck(
                Look(parts, snapshots), progress, False, lambda *_: None, lambda _: None
            )
            return await check.run(named)
    finally:
        await parts.close()


async def expect_whole(world: World, named: str = "") -> None:
    """`named`: the slug of the site that the test has to itself."""
    found = await deep_check(world.parts.settings, world.clock, named)
    assert not found.faults, "\n".join(map(str, found.faults))
    assert sum(found.checked.values())
