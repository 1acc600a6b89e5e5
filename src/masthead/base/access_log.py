"""The access log: one line per response, gathered and written by a thread.

A request only leaves its facts. A thread makes lines of them ten times a second and writes many at
once, because waking up and writing for each would cost more than the rest of it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

GATHER_SECONDS = 0.1
MAX_QUEUED = 50_000
"""Answers that wait for a blocked log; further ones are counted and dropped."""
MAX_PATH = 300
"""Characters."""
MAX_WRITE_BYTES = 4_096
"""Written at once: no more is atomic for processes that share a pipe. A line is shorter."""

Render = Callable[[dict[str, Any]], str]


class Answered(NamedTuple):
    request_id: str
    method: str
    path: str
    """Without the query, which may contain a token."""
    status: int
    seconds: float
    tenant: str | None
    key_id: str
    """The API key's id, if any."""
    moment: float
    """When the answer was sent, in seconds since 1970."""


class AccessLog:
    def __init__(self, stream: TextIO, render: Render, *, max_queued: int = MAX_QUEUED) -> None:
        self._stream = stream
        self._render = render
        self._max_queued = max_queued
        self._answers: deque[Answered] = deque()
        self._dropped = 0
        self._is_closing = False
        self._is_wanted = threading.Event()
        self._thread = threading.Thread(target=self._write_forever, name="access-log", daemon=True)
        self._thread.start()

    def add(self, answered: Answered) -> None:
        if len(self._answers) >= self._max_queued:
            self._dropped += 1
            return
        self._answers.append(answered)
        if not self._is_wanted.is_set():
            self._is_wanted.set()

    def close(self) -> None:
        """Returns when every line is written."""
        self._is_closing = True
        self._is_wanted.set()
        self._thread.join()

    def _write_forever(self) -> None:
        while not self._is_closing:
            self._is_wanted.wait()
            if not self._is_closing:
                # In this thread alone: more lines come meanwhile, and are written with the first.
                time.sleep(GATHER_SECONDS)
            self._is_wanted.clear()
            self._write_gathered()
        self._write_gathered()

    def _write_gathered(self) -> None:
        # A full disk or a closed pipe: these lines are lost, the next ones may not be. A closed
        # stream raises ValueError.
        with contextlib.suppress(OSError, ValueError):
            for text in _pieces(self._lines()):
                self._stream.write(text)
                self._stream.flush()

    def _lines(self) -> Iterator[str]:
        while self._answers:
            answered = self._answers.popleft()
            yield self._line(_facts(answered), answered.moment)
        if dropped := self._dropped:
            self._dropped -= dropped
            yield self._line({"event": "requests.unlogged", "count": dropped}, time.time())

    def _line(self, facts: dict[str, Any], moment: float) -> str:
        timestamp = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
        return self._render({"level": "info", "timestamp": timestamp, **facts}) + "\n"


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Whole lines, joined as far as one write may hold them."""
    gathered: list[str] = []
    size = 0
    for line in lines:
        length = len(line) if line.isascii() else len(line.encode())
        if gathered and size + length > MAX_WRITE_BYTES:
            yield "".join(gathered)
            gathered, size = [], 0
        gathered.append(line)
        size += length
    if gathered:
        yield "".join(gathered)


def _facts(answered: Answered) -> dict[str, Any]:
    facts = {
        "event": "request",
        "request_id": answered.request_id,
        "method": answered.method,
        "path": shown_path(answered.path),
        "status": answered.status,
        "duration_ms": round(answered.seconds * 1000, 2),
    }
    if answered.tenant:
        facts["tenant"] = answered.tenant
    if answered.key_id:
        facts["key_id"] = answered.key_id
    return facts


DRAFT = "/draft/"
"""The beginning of an address that ends with a token, which shows a draft."""


def shown_path(path: str) -> str:
    """Without email addresses and tokens, and without characters that could forge a line."""
    path = path[:MAX_PATH]
    if path.startswith(DRAFT):
        return f"{DRAFT}***"
    if "@" in path:
        path = "/".join("***" if "@" in part else part for part in path.split("/"))
    return path if path.isprintable() else path.encode("unicode_escape").decode()
