"""The rounds of a run: starts, commands and operations of two sides in turn, and the bare server
beside them."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import ceiling, process
from bench.data import Content
from bench.figures import Row, Sample, processor, ratio_of
from bench.rows import FIRST_READ, OPERATIONS, Operation
from bench.service import CanNot, Service, Side
from bench.tasks import Settings, Task

PEER, OURS = "peer", "ours"
COLD_START, IDLE_MEMORY, MEMORY_AFTER = "cold start", "memory, idle", "memory, after"
CEILING_ROUNDS: Final = 3
MISS_COSTS: Final = 1.2
"""Times the processor time of a cached answer, at least."""
_KEY: Final = ("key", "create", "--tenant", "t000", "--name", "start", "--scope", "posts:read")
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "command --version": ("--version",),
    "command key create": _KEY,
}

Services = Mapping[str, Service]


@dataclass(frozen=True)
class Filled:
    side: Side
    folder: Path


@dataclass(frozen=True)
class RunOptions:
    content: Content
    rounds: int
    settings: Settings
    only: str = ""
    """Part of the names of the rows."""
    is_beside: bool = False
    """Only the rows that PocketBase has, too, and no ceiling."""

    @property
    def operations(self) -> list[Operation]:
        return [
            each
            for each in OPERATIONS
            if self.only in each.name and (each.is_beside or not self.is_beside)
        ]


def names(*, is_beside: bool) -> list[str]:
    asked = [each.name for each in OPERATIONS if each.is_beside or not is_beside]
    return [COLD_START, IDLE_MEMORY, *COMMANDS, *asked, MEMORY_AFTER]


def measured(sides: Mapping[str, Filled], wanted: RunOptions) -> Iterator[Row]:
    yield from _starts(sides, wanted)
    for name, arguments in COMMANDS.items():
        if wanted.only in name:
            yield _command(name, arguments, sides, wanted.rounds)
    if not wanted.operations and wanted.only not in MEMORY_AFTER:
        return
    with ExitStack() as stack:
        services = {
            name: stack.enter_context(each.side.serving(each.folder))
            for name, each in sides.items()
        }
        bare = None if wanted.is_beside else stack.enter_context(ceiling.serving())
        for service in services.values():
            service.wait_until_calm()
        yield from _operations(services, bare, wanted)
        if wanted.only in MEMORY_AFTER:
            memory = Row(MEMORY_AFTER, "MB")
            for name, service in services.items():
                _samples(memory, name).append(Sample(service.megabytes()))
            yield memory


def _operations(
    services: Services, bare: ceiling.Ceiling | None, wanted: RunOptions
) -> Iterator[Row]:
    done: dict[str, Row] = {}
    for operation in wanted.operations:
        row = done[operation.name] = operation_row(operation, services, bare, wanted)
        cached = done.get(row.name.removesuffix(FIRST_READ))
        if row.name.endswith(FIRST_READ) and cached:
            # PocketBase has no cache.
            sides = (OURS,) if wanted.is_beside else (PEER, OURS)
            row.problems += missed_nothing(cached, row, sides)
        yield row


def _starts(sides: Mapping[str, Filled], wanted: RunOptions) -> Iterator[Row]:
    """From the start of the process to the first healthy answer, and the memory once it is calm."""
    cold, memory = Row(COLD_START, "s"), Row(IDLE_MEMORY, "MB")
    rows = [row for row in (cold, memory) if wanted.only in row.name]
    for number in range(wanted.rounds if rows else 0):
        for name in _order(number, sides):
            began = time.perf_counter()
            with sides[name].side.serving(sides[name].folder) as service:
                took = time.perf_counter() - began
                used = process.processor_seconds(service.pid)
                _samples(cold, name).append(Sample(took, used))
                if memory in rows:
                    service.wait_until_calm()
                    _samples(memory, name).append(Sample(service.megabytes()))
    yield from rows


def _command(
    name: str, arguments: tuple[str, ...], sides: Mapping[str, Filled], rounds: int
) -> Row:
    row, able = Row(name, "s"), []
    for side, filled in sides.items():
        try:
            command_sample(filled, arguments)
            able.append(side)
        except CanNot as error:
            row.notes.append(f"{side}: {error}")
    for number in range(rounds):
        for side in _order(number, able):
            _samples(row, side).append(command_sample(sides[side], arguments))
    return row


def command_sample(filled: Filled, arguments: tuple[str, ...]) -> Sample:
    used, began = _of_children(), time.perf_counter()
    filled.side.run(filled.folder, *arguments)
    return Sample(time.perf_counter() - began, _of_children() - used)


def _of_children() -> float:
    """Processor seconds of children that have ended: here, of the command alone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def operation_row(
    operation: Operation, services: Services, bare: ceiling.Ceiling | None, wanted: RunOptions
) -> Row:
    row = Row(operation.name, "/s")
    tasks: dict[str, Task] = {}
    for side, service in services.items():
        try:
            tasks[side] = operation.prepare(service, wanted.content)
        except CanNot as error:
            row.notes.append(f"{side}: {error}")
    for number in range(wanted.rounds):
        for side in _order(number, tasks):
            taken = tasks[side].round(services[side], number, wanted.settings)
            _samples(row, side).append(taken.sample)
            row.problems += [f"{side}: {problem}" for problem in taken.problems]
            row.is_generator_bound |= taken.is_generator_bound
        if bare and OURS in tasks and number < CEILING_ROUNDS:
            bare.answer_with(tasks[OURS].answer)
            row.ceiling.append(tasks[OURS].round(bare, number, wanted.settings).sample)
    return row


def missed_nothing(cached: Row, first: Row, sides: Sequence[str]) -> list[str]:
    """A first read that costs no more than any cached answer was answered by the cache. An older
    version may have no cache for the row, so its reads cost the same: then the other one has."""
    problems = []
    for side in sides:
        read = processor(_samples(first, side))
        costs = (processor(_samples(cached, each)) for each in sides)
        ratios = [found for each in costs if (found := ratio_of(each, read, higher_is_better=True))]
        if ratios and max(each.median for each in ratios) < MISS_COSTS:
            problems.append(f"{side}: the cache has answered, this is no first read")
    return problems


def _order(number: int, sides: Mapping[str, object] | list[str]) -> list[str]:
    """The second one finds another machine than the first, so they take turns in that, too."""
    order = [side for side in (PEER, OURS) if side in sides]
    return order if number % 2 == 0 else order[::-1]


def _samples(row: Row, side: str) -> list[Sample]:
    return row.peer if side == PEER else row.ours
