"""One log line for each answer, written by a thread of its own.

A request only puts its facts into a queue. Rendering and writing the line is the listener's work,
so that neither it nor a slow log holds up an answer.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from typing import Any, NamedTuple, TextIO

GATHER_SECONDS = 0.1
MAX_WAITING = 50_000
"""Lines that wait for a log which takes nothing; further ones are only counted."""
MAX_PATH = 300
"""Characters. A line stays below 4,096 bytes, which processes that share a pipe write whole."""

Render = Callable[[dict[str, Any]], str]

_logger = logging.getLogger("masthead.access")


class Answered(NamedTuple):
    request_id: str
    method: str
    path: str
    """Without the query, which may hold a token."""
    status: int
    seconds: float
    tenant: str | None
    key_id: str
    """Of the API key, where the call had one."""


def log_answer(answered: Answered) -> None:
    """Nothing happens before there is an `AccessLog`."""
    _logger.info(answered)


class AccessLog:
    def __init__(self, stream: TextIO, render: Render) -> None:
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        output = logging.StreamHandler(stream)
        output.setFormatter(_LineFormatter(render))
        self._queued = _Queued(waiting)
        self._listener = _Listener(waiting, output)
        self._listener.start()
        _logger.setLevel(logging.INFO)
        _logger.propagate = False
        _logger.addHandler(self._queued)

    def close(self) -> None:
        """Returns when every waiting line is written."""
        _logger.removeHandler(self._queued)
        self._queued.report_dropped()
        self._listener.stop()


class _Queued(QueueHandler):
    def __init__(self, waiting: queue.SimpleQueue[Any]) -> None:
        super().__init__(waiting)
        self._waiting = waiting
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """As it is: the listener is in the same process, and formats it there."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._waiting.qsize() >= MAX_WAITING:
            self._dropped += 1
            return
        self.report_dropped()
        self._waiting.put(record)

    def report_dropped(self) -> None:
        if self._dropped:
            facts = {"event": "requests.unlogged", "count": self._dropped}
            self._dropped = 0
            self._waiting.put(logging.makeLogRecord({"msg": facts}))


class _Listener(QueueListener):
    def __init__(self, waiting: queue.SimpleQueue[Any], output: logging.Handler) -> None:
        super().__init__(waiting, output)
        self._waiting = waiting

    def dequeue(self, block: bool) -> logging.LogRecord:
        # Waking up for each line would cost a busy server more than the lines do.
        if self._waiting.empty():
            time.sleep(GATHER_SECONDS)
        return super().dequeue(block)


class _LineFormatter(logging.Formatter):
    def __init__(self, render: Render) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        # A record's message may be any object; here it is what the line is made of.
        message: Any = record.msg
        facts = _facts(message) if isinstance(message, Answered) else message
        moment = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        return self._render({"level": "info", "timestamp": moment, **facts})


def _facts(answered: Answered) -> dict[str, Any]:
    facts = {
        "event": "request",
        "request_id": answered.request_id,
        "method": answered.method,
        "path": _shown(answered.path),
        "status": answered.status,
        "duration_ms": round(answered.seconds * 1000, 2),
    }
    if answered.tenant:
        facts["tenant"] = answered.tenant
    if answered.key_id:
        facts["key_id"] = answered.key_id
    return facts


def _shown(path: str) -> str:
    """Without email addresses, and without characters that could forge a line."""
    path = path[:MAX_PATH]
    if "@" in path:
        path = "/".join("***" if "@" in part else part for part in path.split("/"))
    return path if path.isprintable() else path.encode("unicode_escape").decode()
