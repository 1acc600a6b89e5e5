"""Finding the addresses of a host name with the system's resolver, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from masthead.outbound.addresses import Address

Lookup = Callable[[str], Awaitable[Sequence[Address]]]
"""Gives every address of a name; raises OSError when it has none."""

MAX_LOOKUPS = 128


class SystemLookup:
    """One thread for each name that is being looked up, however many calls wait for it.

    The loop has only a handful of threads for this, which a few names with a dead name server
    would hold for half a minute each. Ours are daemons: a stuck one does not delay the exit.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Sequence[Address]]] = {}
        self._threads = asyncio.Semaphore(MAX_LOOKUPS)

    async def __call__(self, host: str) -> Sequence[Address]:
        task = self._running.get(host)
        if task is None:
            task = asyncio.create_task(self._run(host))
            self._running[host] = task
            task.add_done_callback(lambda done: self._finish(host, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, host: str) -> Sequence[Address]:
        async with self._threads:
            return await _in_own_thread(lambda: addresses_of(host))

    def _finish(self, host: str, task: asyncio.Task[Sequence[Address]]) -> None:
        del self._running[host]
        if not task.cancelled():
            # Whoever asked may have given up; then nobody else takes the exception.
            task.exception()


def addresses_of(host: str) -> Sequence[Address]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in found))


async def _in_own_thread(function: Callable[[], Sequence[Address]]) -> Sequence[Address]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Sequence[Address]] = loop.create_future()

    def settle(result: Sequence[Address] | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result or ())

    def run() -> None:
        result, error = None, None
        try:
            result = function()
        except (OSError, UnicodeError) as raised:
            error = raised if isinstance(raised, OSError) else OSError(str(raised))
        # The loop may be gone by the time a stuck lookup ends.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="lookup", daemon=True).start()
    return await future
