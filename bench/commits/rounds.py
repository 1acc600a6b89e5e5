"""The rounds of a run: both versions in turn for every row, and the bare server beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from bench.commits import ceiling, starts
from bench.commits.comparison import Row, Sample, ratio_of
from bench.commits.operations import (
    MISS,
    OPERATIONS,
    WARM,
    CanNot,
    Operation,
    Settings,
    Task,
)
from bench.commits.version import Service, Version

BASE, NOW = "base", "now"
CEILING_ROUNDS: Final = 3
MISS_COSTS: Final = 1.2
"""Times the processor time of a warm answer, at least."""

Versions = Mapping[str, Version]
Services = Mapping[str, Service]


@dataclass(frozen=True)
class Wanted:
    rounds: int
    settings: Settings
    only: str = ""
    """Part of the names of the rows."""


def names() -> list[str]:
    commands = [each.name for each in starts.COMMANDS]
    around = [starts.COLD_START, starts.IDLE_MEMORY, *commands]
    return [*around, *(each.name for each in OPERATIONS), starts.MEMORY_AFTER]


def measured(versions: Versions, wanted: Wanted) -> Iterator[Row]:
    yield from _starts(versions, wanted)
    for command in starts.COMMANDS:
        if wanted.only in command.name:
            yield _command(command, versions, wanted.rounds)
    operations = [each for each in OPERATIONS if wanted.only in each.name]
    if not operations and wanted.only not in starts.MEMORY_AFTER:
        return
    with ExitStack() as stack:
        services = {
            side: stack.enter_context(version.serving()) for side, version in versions.items()
        }
        bare = stack.enter_context(ceiling.serving())
        for service in services.values():
            service.wait_until_calm()
        done: dict[str, Row] = {}
        for operation in operations:
            row = done[operation.name] = operation_row(operation, services, bare, wanted)
            if row.name.endswith(MISS) and (warm := done.get(row.name.removesuffix(MISS) + WARM)):
                row.problems += missed_nothing(warm, row)
            yield row
        if wanted.only in starts.MEMORY_AFTER:
            memory = Row(starts.MEMORY_AFTER, "MB")
            for side, service in services.items():
                _samples(memory, side).append(Sample(service.megabytes()))
            yield memory


def _starts(versions: Versions, wanted: Wanted) -> Iterator[Row]:
    cold, memory = Row(starts.COLD_START, "s"), Row(starts.IDLE_MEMORY, "MB")
    rows = [row for row in (cold, memory) if wanted.only in row.name]
    if not rows:
        return
    for number in range(wanted.rounds):
        for side in _order(number):
            took, used = starts.start(versions[side], with_memory=memory in rows)
            _samples(cold, side).append(took)
            if used:
                _samples(memory, side).append(used)
    yield from rows


def _command(command: starts.Command, versions: Versions, rounds: int) -> Row:
    row = Row(command.name, "s")
    able = {}
    for side, version in versions.items():
        try:
            command.sample(version)
            able[side] = version
        except RuntimeError as error:
            row.notes.append(f"{side}: {error}")
    for number in range(rounds):
        for side in _order(number):
            if side in able:
                _samples(row, side).append(command.sample(able[side]))
    return row


def operation_row(
    operation: Operation, services: Services, bare: ceiling.Ceiling, wanted: Wanted
) -> Row:
    row = Row(operation.name, "/s")
    tasks: dict[str, Task] = {}
    for side, service in services.items():
        try:
            tasks[side] = operation.prepare(service)
        except CanNot as error:
            row.notes.append(f"{side}: {error}")
    for number in range(wanted.rounds):
        for side in _order(number):
            if side not in tasks:
                continue
            taken = tasks[side].round(services[side], number, wanted.settings)
            _samples(row, side).append(taken.sample)
            row.problems += [f"{side}: {problem}" for problem in taken.problems]
        if NOW in tasks and number < CEILING_ROUNDS:
            bare.answer_with(tasks[NOW].answer)
            row.ceiling.append(tasks[NOW].round(bare, number, wanted.settings).sample)
    return row


def missed_nothing(warm: Row, miss: Row) -> list[str]:
    """A miss that costs no more than a warm answer was answered by the cache."""
    found = []
    for side in (BASE, NOW):
        ratio = ratio_of(
            *([each.processor for each in _samples(row, side)] for row in (warm, miss)),
            higher_is_better=True,
        )
        if ratio and ratio.median < MISS_COSTS:
            found.append(f"{side}: the cache has answered, this is no miss")
    return found


def _order(number: int) -> tuple[str, str]:
    """Whoever is second finds another machine than the first, so they take turns in that, too."""
    return (BASE, NOW) if number % 2 == 0 else (NOW, BASE)


def _samples(row: Row, side: str) -> list[Sample]:
    return row.base if side == BASE else row.now
