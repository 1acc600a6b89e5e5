"""What is measured around a start: its time, the idle memory, and commands."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from typing import Final

from bench.commits.comparison import Sample
from bench.commits.version import READ, Version
from bench.process import processor_seconds

COLD_START, IDLE_MEMORY, MEMORY_AFTER = "cold start", "memory, idle", "memory, after"


@dataclass(frozen=True)
class Command:
    name: str
    arguments: tuple[str, ...]

    def sample(self, version: Version) -> Sample:
        used, began = _of_children(), time.perf_counter()
        version.run(*self.arguments)
        return Sample(time.perf_counter() - began, _of_children() - used)


_KEY: Final = ("key", "create", "--tenant", READ, "--name", "start", "--scope", "posts:read")
COMMANDS: Final = (
    Command("masthead --version", ("--version",)),
    Command("masthead key list", ("key", "list", "--tenant", READ)),
    Command("masthead key create", _KEY),
)


def start(version: Version, with_memory: bool) -> tuple[Sample, Sample | None]:
    """A cold start until the first healthy answer, and the memory once it is calm."""
    began = time.perf_counter()
    with version.serving() as service:
        took = Sample(time.perf_counter() - began, processor_seconds(service.pids))
        if not with_memory:
            return took, None
        service.wait_until_calm()
        return took, Sample(service.megabytes())


def _of_children() -> float:
    """Processor seconds of children that have ended: here, of the command alone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
