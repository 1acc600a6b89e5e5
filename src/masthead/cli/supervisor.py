"""Several server processes on one socket: started, watched, replaced when one dies, and drained.

Each is this module run as a program. It gets its orders as JSON on standard input, says `ready` on
standard output, and drains on SIGTERM or when standard input ends, so that it can't outlive its
parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import msgspec
import structlog

from masthead.app import Parts
from masthead.cli.invocation import Invocation
from masthead.cli.listener import refuse_newcomers
from masthead.cli.opened import configure_logs
from masthead.cli.server import DRAIN_SECONDS, Server
from masthead.errors import MastheadError
from masthead.setting_values import Url

log = structlog.get_logger()

REPLACE_AFTER_SECONDS = 1.0
KILL_AFTER_SECONDS = DRAIN_SECONDS + 10
READY = b"ready\n"


class Orders(msgspec.Struct, frozen=True):
    listener: int
    """The file descriptor."""
    data_dir: str
    database_url: str
    base_url: str
    with_worker: bool


class NotStarted(MastheadError):
    message = "A server process did not start; the lines above say why."


class Supervisor:
    def __init__(self, orders: Orders, listener: socket.socket, count: int) -> None:
        self._orders = orders
        self._listener = listener
        self._count = count
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, when_ready: asyncio.Future[None]) -> None:
        """Serves until `stop`; `when_ready` is set once every process serves."""
        processes = await asyncio.gather(*(self._start() for _ in range(self._count)))
        keepers = [asyncio.create_task(self._keep(each)) for each in processes]
        when_ready.set_result(None)
        await self._stopping.wait()
        refuse_newcomers(self._listener)
        self._listener.close()
        await asyncio.gather(*keepers)

    async def _keep(self, process: Process) -> None:
        """Replaces the process whenever it ends before its time; then ends it in good order."""
        stopping = asyncio.create_task(self._stopping.wait())
        while True:
            ended = asyncio.create_task(process.wait())
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                break
            log.error("server.process_died", pid=process.pid, code=process.returncode)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(stopping), REPLACE_AFTER_SECONDS)
            if self._stopping.is_set():
                return
            with contextlib.suppress(NotStarted):
                process = await self._start()
        await _end(process)

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "masthead.cli.supervisor",
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=(self._orders.listener,),
            # A Ctrl-C in the terminal reaches the parent alone, which then drains them all.
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(self._orders) + b"\n")
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


async def _serve_as_ordered() -> None:
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    settings = Invocation(Path(orders.data_dir), orders.database_url).settings()
    settings = dataclasses.replace(settings, base_url=Url(orders.base_url))
    configure_logs(settings)
    server = Server(settings, socket.socket(fileno=orders.listener), with_worker=orders.with_worker)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)
    loop.add_reader(sys.stdin.fileno(), server.stop)

    async def say_ready(_: Parts) -> None:
        os.write(sys.stdout.fileno(), READY)

    await server.run(say_ready)


if __name__ == "__main__":
    import uvloop

    try:
        uvloop.run(_serve_as_ordered())
    except MastheadError as error:
        sys.exit(f"masthead: {error}")
