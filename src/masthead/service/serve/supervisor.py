"""Runs several server processes on the same sockets: starts, restarts and drains them.

Each is `python -m masthead.service.serve.child`. It reads its settings from the environment,
writes `ready` to standard output, and drains on SIGTERM or when standard input ends, so that it
can't outlive its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from masthead.base.config.settings import Settings
from masthead.base.errors import MastheadError
from masthead.base.logs import log
from masthead.service.serve.listener import stop_accepting
from masthead.service.serve.metrics_place import MetricsPlace
from masthead.web.in_flight import DRAIN_SECONDS

RESTART_SECONDS = 1.0
KILL_AFTER_SECONDS = DRAIN_SECONDS + 10
READY = b"ready\n"
METRICS_FOLDER, METRICS_SOCKET = "--metrics-folder=", "--metrics-socket="


class NotStarted(MastheadError):
    message = "A server process did not start; the lines above say why."


class Supervisor:
    def __init__(
        self,
        settings: Settings,
        listeners: Sequence[socket.socket],
        count: int,
        *,
        with_worker: bool,
        metrics: MetricsPlace | None = None,
    ) -> None:
        self._listeners = listeners
        self._descriptors = tuple(listener.fileno() for listener in listeners)
        self._count = count
        self._stopping = asyncio.Event()
        descriptors = ",".join(map(str, self._descriptors))
        self._command = [sys.executable, "-m", "masthead.service.serve.child", descriptors]
        if not with_worker:
            self._command.append("--no-worker")
        if metrics and metrics.folder:
            self._command.append(f"{METRICS_FOLDER}{metrics.folder}")
        if metrics and metrics.listener:
            metrics.listener.set_inheritable(True)
            self._command.append(f"{METRICS_SOCKET}{metrics.listener.fileno()}")
            self._descriptors += (metrics.listener.fileno(),)
        # The command line overrides the environment.
        self._environment = {
            **os.environ,
            "MASTHEAD_DATA_DIR": str(settings.data_dir),
            "MASTHEAD_DATABASE_URL": str(settings.database_url),
            "MASTHEAD_BASE_URL": str(settings.base_url),
        }

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, when_ready: asyncio.Future[None]) -> None:
        """Serves until `stop`; `when_ready` is set once every process serves."""
        for listener in self._listeners:
            listener.set_inheritable(True)
        processes = await asyncio.gather(*(self._start() for _ in range(self._count)))
        watching = [asyncio.create_task(self._watch(each)) for each in processes]
        when_ready.set_result(None)
        await self._stopping.wait()
        for listener in self._listeners:
            stop_accepting(listener)
            listener.close()
        await asyncio.gather(*watching)

    async def _watch(self, process: Process) -> None:
        """Restarts the process whenever it dies, until `stop`, which drains it."""
        stopping = asyncio.create_task(self._stopping.wait())
        while True:
            ended = asyncio.create_task(process.wait())
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                break
            log.error("server.process_died", pid=process.pid, code=process.returncode)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(stopping), RESTART_SECONDS)
            if self._stopping.is_set():
                return
            with contextlib.suppress(NotStarted):
                process = await self._start()
        await _end(process)

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=self._descriptors,
            # Ctrl-C in the terminal only signals the parent, which then drains them all.
            start_new_session=True,
        )
        assert process.stdout is not None
        if await process.stdout.readline() != READY:
            await process.wait()
            raise NotStarted
        return process


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), KILL_AFTER_SECONDS)
    except TimeoutError:
        log.warning("server.process_killed", pid=process.pid)
        process.kill()
        await process.wait()
