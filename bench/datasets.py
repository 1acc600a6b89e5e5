"""Cached data directories. Each run works on a copy, so that its writes do not affect others."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "masthead-bench"


@contextmanager
def copy_of(name: str, build: Callable[[Path], None], *, is_fresh: bool) -> Iterator[Path]:
    """A copy of the data set `name`, which `build` creates in an empty folder if it is missing."""
    cached = cache_folder() / name
    if is_fresh and cached.exists():
        shutil.rmtree(cached)
    if not cached.exists():
        _build(cached, build)
    with run_folder() as run:
        folder = run / "data"
        # With owners: a PostgreSQL that root has started runs as another user.
        subprocess.run(["cp", "-a", cached, folder], check=True)
        # Otherwise the first seconds measure the write-back of the copy.
        os.sync()
        yield folder


@contextmanager
def run_folder() -> Iterator[Path]:
    """A temporary folder on disk. /tmp is often in memory, where a sync costs nothing."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="run-") as name:
        yield Path(name)


def _build(cached: Path, build: Callable[[Path], None]) -> None:
    with run_folder() as parent:
        folder = parent / "data"
        folder.mkdir()
        build(folder)
        folder.rename(cached)
