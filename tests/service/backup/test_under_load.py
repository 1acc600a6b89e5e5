"""A backup while 500 writes a second go on: it holds whole transactions, each after those before
it, and no write waits for it."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.forking import forked_program
from tests.service.backup.sites import Installation
from tests.world import World

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.service.schema import registry

pytestmark = pytest.mark.sweep

WRITERS = 10
PER_SECOND = 500
"""Writes of all writers together. A slow machine makes fewer; what holds does not depend on it."""
STORED_BEFORE = 2_000
categories = registry["categories"]


@dataclass
class Writing:
    """Each writer numbers its transactions, and each transaction makes two records."""

    world: World
    tenant_id: TenantId
    done: dict[int, int] = field(default_factory=dict)
    longest: float = 0.0
    stopped: bool = False

    async def run(self, writer: int) -> None:
        number = 0
        while not self.stopped:
            began = time.monotonic()
            await self.write(writer, number)
            number += 1
            self.done[writer] = number
            took = time.monotonic() - began
            self.longest = max(self.longest, took)
            await asyncio.sleep(max(2 * WRITERS / PER_SECOND - took, 0))

    async def write(self, writer: int, number: int) -> None:
        async with self.world.parts.records.unit(system(self.tenant_id)) as unit:
            for half in ("a", "b"):
                name = f"{writer} {number} {half}"
                await unit.create(categories, {"name": name, "slug": name.replace(" ", "-")})

    @property
    def total(self) -> int:
        return 2 * sum(self.done.values())


def check_whole(found: list[Record], written: dict[int, int]) -> None:
    """Both halves of every transaction, and of each writer all up to its last one."""
    numbers: dict[int, dict[int, set[str]]] = {}
    for each in found:
        writer, number, half = each["name"].split()
        numbers.setdefault(int(writer), {}).setdefault(int(number), set()).add(half)
    for writer, halves in numbers.items():
        assert all(each == {"a", "b"} for each in halves.values())
        assert sorted(halves) == list(range(len(halves)))
        assert len(halves) <= written[writer]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_a_backup_under_writes_is_consistent(engine: str, tmp_path: Path) -> None:
    # Loaded before the clock runs.
    forked_program()
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Installation.empty(engine, tmp_path / "first")
    archive = tmp_path / "whole.tar"
    async with first.serving() as world:
        tenant = await world.new_tenant("demo", slug="demo")
        writing = Writing(world, tenant.id)
        # Rows that take the backup some time to read.
        for number in range(STORED_BEFORE // 2):
            await writing.write(WRITERS, number)
        writing.done[WRITERS] = STORED_BEFORE // 2
        tasks = [asyncio.create_task(writing.run(each)) for each in range(WRITERS)]
        await asyncio.sleep(0.5)
        before, began = writing.total, time.monotonic()
        await first.json("backup", str(archive))
        during, seconds = writing.total - before, time.monotonic() - began
        writing.stopped = True
        await asyncio.gather(*tasks)
    # For `pytest -rP`: figures of a shared machine are no reason to fail.
    rate, longest = during / seconds, writing.longest * 1000
    sys.stdout.write(f"{rate:.0f} writes a second, the longest took {longest:.0f} ms\n")
    assert during > 0
    verified = await first.json("backup", "verify", str(archive))
    assert verified["records"] > STORED_BEFORE
    second = Installation.empty(engine, tmp_path / "second")
    await second.json("restore", str(archive))
    async with second.serving() as world:
        records = world.parts.records
        found = await records.find(categories, {}, tenant_id=tenant.id, limit=100_000)
        check_whole(found, writing.done)
        assert len(found) >= STORED_BEFORE
        # What is derived is of the same moment.
        counted = await records.counts.by_tenant(categories, [tenant.id])
        assert counted[tenant.id] == len(found)
