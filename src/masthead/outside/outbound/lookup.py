"""Resolves host names with the system's resolver, in threads."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from masthead.outside.outbound.addresses import Address

Lookup = Callable[[str], Awaitable[Sequence[Address]]]
"""Returns every address of a name; raises OSError if it has none."""

MAX_LOOKUPS = 128


class SystemLookup:
    """One thread per name, shared by all calls that wait for it.

    The loop's own executor has few threads, and names with a dead name server would block each for
    half a minute. Daemon threads do not delay the exit.
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
        try:
            return await asyncio.shield(task)
        finally:
            # Otherwise this frame, which is in an exception's traceback, would refer to it.
            del task

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
            # All callers may have been cancelled; then the exception must be retrieved here.
            task.exception()


def addresses_of(host: str) -> Sequence[Address]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in found))


async def _in_own_thread(function: Callable[[], Sequence[Address]]) -> Sequence[Address]:
    future: asyncio.Future[Sequence[Address]] = asyncio.get_running_loop().create_future()
    threading.Thread(target=_run, args=(function, future), name="lookup", daemon=True).start()
    try:
        return await future
    finally:
        del future  # as above


def _run(
    function: Callable[[], Sequence[Address]], future: asyncio.Future[Sequence[Address]]
) -> None:
    result: Sequence[Address] = ()
    error = None
    try:
        result = function()
    except (OSError, UnicodeError) as raised:
        error = raised if isinstance(raised, OSError) else OSError(str(raised))
        # The traceback would refer to this frame and the future.
        error.__traceback__ = None
    # The loop may be closed by the time a stuck lookup ends.
    with contextlib.suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_set_result, future, result, error)


def _set_result(
    future: asyncio.Future[Sequence[Address]], result: Sequence[Address], error: OSError | None
) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
