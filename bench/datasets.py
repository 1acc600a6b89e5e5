"""Loaded data directories, kept between runs and named by what is in them; each run works on a
copy, so that what it writes never reaches the next one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "masthead-bench"


@contextmanager
def copy_of(name: str, build: Callable[[Path], None], *, is_fresh: bool) -> Iterator[Path]:
    """A copy of the data set `name`, which `build` makes in an empty folder when it is missing.

    The copy lies beside the cache and not under /tmp, which is often in memory: a sync to disk
    must cost what it costs."""
    kept = cache_folder() / name
    if is_fresh and kept.exists():
        shutil.rmtree(kept)
    if not kept.exists():
        _build(kept, build)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="run-") as run:
        folder = Path(run) / "data"
        shutil.copytree(kept, folder)
        # Otherwise the first seconds measure the write-back of the copy.
        os.sync()
        yield folder


def _build(kept: Path, build: Callable[[Path], None]) -> None:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="build-") as parent:
        folder = Path(parent) / "data"
        folder.mkdir()
        build(folder)
        folder.rename(kept)
