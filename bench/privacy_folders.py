"""The data folders of `bench.privacy`: seeded once, and copied for each run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.databases import postgres_server
from masthead.base.config.settings import Settings

SECRET = "b" * 40
_DATABASE = "masthead"
_KEY = "other-tenant.key"


@dataclass(frozen=True)
class DataFolder:
    """A data directory, with a PostgreSQL cluster if that is the database."""

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


@contextmanager
def opened(folder: Path, *, postgres: bool) -> Iterator[DataFolder]:
    folder.mkdir(parents=True, exist_ok=True)
    if not postgres:
        yield DataFolder(folder, None)
        return
    runtime = folder.with_name("runtime")
    runtime.mkdir(mode=0o700, exist_ok=True)
    with postgres_server(folder / "postgres", runtime) as running:
        # SELECT … \gexec creates the database if it is missing.
        missing = f"NOT EXISTS (SELECT FROM pg_database WHERE datname = '{_DATABASE}')"
        running.psql(f"SELECT 'CREATE DATABASE {_DATABASE}' WHERE {missing} \\gexec")
        yield DataFolder(folder, running.get_uri(database=_DATABASE))


def copy_data(seeded: Path, run: Path) -> None:
    """With `cp -a`, so that the files of PostgreSQL keep their owner. Ends with a sync, so that
    the write-back of the copy is not measured."""
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    subprocess.run(["cp", "-a", f"{seeded}/.", str(run)], check=True)
    os.sync()
