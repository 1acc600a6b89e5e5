"""Bounds on computing that tell a cost which grows with the square from one that does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Of this thread's own work, so that nothing else on the machine counts. Ask for ten times the
    usual or more: how quick something is belongs into a benchmark."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < seconds
