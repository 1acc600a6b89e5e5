"""The running streams, so that a stopping service can end them properly."""

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
        """Ends every stream with a last event, and each new one too."""
        self.is_closing = True
        for task in list(self._tasks):
            task.cancel()
