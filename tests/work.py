"""CPU time, which does not depend on what else the machine is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limits the CPU time of this thread. Allow ten times the usual or more: this is for quadratic
    costs, and speed is measured by the benchmarks."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < seconds


def thread_seconds(prefix: str) -> float:
    """The CPU time so far of the threads whose names start so."""
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(each.ident))
        for each in threading.enumerate()
        if each.name.startswith(prefix) and each.ident is not None
    )
