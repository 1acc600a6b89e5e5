"""Worker processes that a test may kill."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from tests.world import World

SCRIPT = Path(__file__).with_name("forking_worker.py")


class Workers:
    def __init__(self, parent: subprocess.Popen[str]) -> None:
        self._parent = parent

    async def start(self, ahead: timedelta = timedelta()) -> int:
        """The process id of one more worker, once it is at work; its clock is ahead by so much."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(f"{ahead.total_seconds()}\n")
        self._parent.stdin.flush()
        return int(await asyncio.to_thread(self._parent.stdout.readline))


@contextmanager
def forked_workers(world: World, **environ: str) -> Iterator[Workers]:
    settings = world.parts.settings
    # The service refuses settings that it does not know, those of tests among them.
    inherited = {name: each for name, each in os.environ.items() if "MASTHEAD" not in name}
    parent = subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        env={
            **inherited,
            "MASTHEAD_SECRET_KEY": "k" * 40,
            "MASTHEAD_BASE_URL": "http://localhost",
            "MASTHEAD_DATA_DIR": str(settings.data_dir),
            "MASTHEAD_DATABASE_URL": str(settings.database_url),
            "MASTHEAD_LOG": "json",
            **environ,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        yield Workers(parent)
        assert parent.stdin is not None
        parent.stdin.close()
