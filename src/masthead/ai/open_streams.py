"""The answers that are being streamed, so that a service that stops can end them in order."""

from __future__ import annotations

import asyncio


class OpenStreams:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_closing = False

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.is_closing:
            task.cancel()

    def close(self) -> None:
        """Every stream says that the service is stopping and ends; so does each newcomer."""
        self.is_closing = True
        for task in list(self._tasks):
            task.cancel()
