"""Killed with SIGKILL at any moment while everything is written, the service loses nothing that it
has acknowledged, invents nothing, and leaves nothing half."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.databases import fresh_url
from tests.faults.installation import installed
from tests.faults.invariants import check, free_leases, settle
from tests.faults.load import Load
from tests.faults.report import note

ROUNDS = 12
MOST = 120
"""Acknowledged calls before a kill."""


@pytest.fixture
def seed() -> int:
    # Printed by pytest with a failure; put it in here to see the same load again.
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    return seed


@pytest.mark.parametrize(
    ("engine", "rounds"),
    [
        ("sqlite", 1),
        pytest.param("sqlite", ROUNDS, marks=pytest.mark.sweep),
        pytest.param("postgresql", ROUNDS, marks=pytest.mark.sweep),
    ],
)
async def test_killing_the_service_while_everything_is_written(
    engine: str, rounds: int, tmp_path: Path, seed: int
) -> None:
    async with installed(fresh_url(engine, tmp_path), tmp_path) as site:
        load = Load(site, seed)
        for number in range(1, rounds + 1):
            if number % 3 == 0:
                # The next process goes on with the jobs of those before. Not in each round: a
                # sign-in would be too old for an export.
                free_leases(site)
            site.start()
            tasks = await load.until(load.rng.randint(1, MOST))
            site.kill()
            await load.finish(tasks)
        site.start()
        await settle(site)
        found = await check(site, load)
        note("kill -9 of the service", engine, rounds, load, found)
    assert found.losses == []
