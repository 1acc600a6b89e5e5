"""Keeps the items of a worker's loop apart: one that raises delays no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from masthead.base import counters
from masthead.base.errors import Unavailable
from masthead.base.logs import log


@contextmanager
def isolated(kind: str, **item: object) -> Iterator[None]:
    """Logs and counts what the item raises; the loop goes on with the next one. `Unavailable` is
    raised: without a database the next item would fail as well."""
    try:
        yield
    except Unavailable:
        raise
    # Part of the job's edge, for one item of a loop over those of all sites.
    except Exception:
        log.exception("jobs.item_failed", kind=kind, **item)
        counters.JOBS.add(kind, counters.FAILED)
