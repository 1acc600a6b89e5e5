"""Worker processes that a test may kill."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from tests.forking import forked_program
from tests.world import World


class Workers:
    def __init__(self, function: str, environ: dict[str, str], started: ExitStack) -> None:
        self._program = forked_program(function)
        self._environ = environ
        self._started = started

    async def start(self, ahead: timedelta = timedelta()) -> int:
        """The process id of one more job runner, once it is at work; its clock is ahead."""
        return await self.start_with(str(ahead.total_seconds()))

    async def start_with(self, *arguments: str) -> int:
        process = subprocess.Popen(
            [self._program, *arguments], env=self._environ, stdout=subprocess.PIPE, text=True
        )
        self._started.enter_context(process)
        self._started.callback(process.terminate)
        assert process.stdout is not None
        return int(await asyncio.to_thread(process.stdout.readline))


@contextmanager
def workers_of(function: str, **settings: str) -> Iterator[Workers]:
    # The service refuses settings that it does not know, those of tests among them.
    inherited = {name: each for name, each in os.environ.items() if "MASTHEAD" not in name}
    with ExitStack() as started:
        yield Workers(function, {**inherited, **settings}, started)


@contextmanager
def forked_workers(world: World, **environ: str) -> Iterator[Workers]:
    settings = {
        "MASTHEAD_SECRET_KEY": "k" * 40,
        "MASTHEAD_BASE_URL": "http://localhost",
        "MASTHEAD_DATA_DIR": str(world.parts.settings.data_dir),
        "MASTHEAD_DATABASE_URL": str(world.parts.settings.database_url),
        "MASTHEAD_LOG": "json",
        **environ,
    }
    with workers_of("tests.engine.jobs.forking_worker:main", **settings) as workers:
        yield workers
