"""One log line for each answer, written in batches by a thread of its own.

A request only leaves a note: making the line and writing it happen elsewhere, so that neither the
work nor a log that nobody reads fast enough holds up an answer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

GATHER_SECONDS = 0.1
MAX_WAITING = 50_000
"""Lines that wait for a log which takes nothing; what comes on top is only counted."""
MAX_WRITE = 4_096
"""Characters: what several processes write to one pipe in pieces of that size does not mix."""
MAX_PATH = 300
_CLOSE_SECONDS = 2.0

Render = Callable[[dict[str, Any]], str]


class Answered(NamedTuple):
    at: float
    """Seconds since 1970, when the answer was complete."""
    request_id: str
    method: str
    path: str
    """Without the query, which may hold a token."""
    status: int
    seconds: float
    tenant: str | None
    key_id: str
    """Of the API key, where the call had one."""


class AccessLog:
    def __init__(self, stream: TextIO, render: Render) -> None:
        self._stream = stream
        self._render = render
        self._waiting: deque[Answered] = deque()
        self._unlogged = 0
        self._wake = threading.Event()
        self._is_closing = False
        self._writer = threading.Thread(target=self._write_forever, name="access-log", daemon=True)
        self._writer.start()

    def note(self, answered: Answered) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._unlogged += 1
            return
        self._waiting.append(answered)
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Writes what is left; waits only so long for a log that takes nothing."""
        self._is_closing = True
        self._wake.set()
        self._writer.join(_CLOSE_SECONDS)

    def _write_forever(self) -> None:
        while not self._is_closing:
            self._wake.wait()
            if not self._is_closing:
                time.sleep(GATHER_SECONDS)
            self._wake.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        try:
            for piece in _pieces(self._lines()):
                self._stream.write(piece)
                self._stream.flush()
        except (OSError, ValueError):
            # Whoever read the log is gone, and there is nobody left to tell.
            self._waiting.clear()

    def _lines(self) -> Iterator[str]:
        while self._waiting:
            yield self._render(_event(self._waiting.popleft())) + "\n"
        if self._unlogged:
            count, self._unlogged = self._unlogged, 0
            yield self._render(_line(time.time(), "requests.unlogged", count=count)) + "\n"


def _event(answered: Answered) -> dict[str, Any]:
    event = _line(
        answered.at,
        "request",
        request_id=answered.request_id,
        method=answered.method,
        path=_shown(answered.path),
        status=answered.status,
        duration_ms=round(answered.seconds * 1000, 2),
    )
    if answered.tenant:
        event["tenant"] = answered.tenant
    if answered.key_id:
        event["key_id"] = answered.key_id
    return event


def _line(at: float, event: str, **values: Any) -> dict[str, Any]:
    moment = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return {"event": event, "level": "info", "timestamp": moment, **values}


def _shown(path: str) -> str:
    """Without mailboxes, and without characters that could forge a line."""
    path = path[:MAX_PATH]
    if "@" in path:
        path = "/".join("***" if "@" in part else part for part in path.split("/"))
    return path if path.isprintable() else path.encode("unicode_escape").decode()


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    gathered: list[str] = []
    size = 0
    for line in lines:
        if gathered and size + len(line) > MAX_WRITE:
            yield "".join(gathered)
            gathered, size = [], 0
        gathered.append(line)
        size += len(line)
    if gathered:
        yield "".join(gathered)
