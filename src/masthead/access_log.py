"""The access log: one line per response, written by a thread.

A request only puts its data into a queue. A listener renders and writes the line, so that neither
delays a response.
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
MAX_QUEUED = 50_000
"""Lines that wait for a blocked log; further ones are counted and dropped."""
MAX_PATH = 300
"""Characters. A line stays below 4,096 bytes, which is atomic for processes that share a pipe."""

Render = Callable[[dict[str, Any]], str]

_logger = logging.getLogger("masthead.access")


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


def log_answer(answered: Answered) -> None:
    """Does nothing without an `AccessLog`."""
    _logger.info(answered)


class AccessLog:
    def __init__(self, stream: TextIO, render: Render, *, max_queued: int = MAX_QUEUED) -> None:
        records: queue.SimpleQueue[Any] = queue.SimpleQueue()
        output = logging.StreamHandler(stream)
        output.setFormatter(_LineFormatter(render))
        self._handler = _BoundedQueueHandler(records, max_queued)
        self._listener = _Listener(records, output)
        self._listener.start()
        _logger.setLevel(logging.INFO)
        _logger.propagate = False
        _logger.addHandler(self._handler)

    def close(self) -> None:
        """Returns when every queued line is written."""
        _logger.removeHandler(self._handler)
        self._handler.report_dropped()
        self._listener.stop()


class _BoundedQueueHandler(QueueHandler):
    def __init__(self, records: queue.SimpleQueue[Any], max_queued: int) -> None:
        super().__init__(records)
        self._records = records
        self._max_queued = max_queued
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Unchanged: the listener, in the same process, formats it."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._records.qsize() >= self._max_queued:
            self._dropped += 1
            return
        self.report_dropped()
        self._records.put(record)

    def report_dropped(self) -> None:
        if self._dropped:
            facts = {"event": "requests.unlogged", "count": self._dropped}
            self._dropped = 0
            self._records.put(logging.makeLogRecord({"msg": facts}))


class _Listener(QueueListener):
    def __init__(self, records: queue.SimpleQueue[Any], output: logging.Handler) -> None:
        super().__init__(records, output)
        self._records = records

    def dequeue(self, block: bool) -> logging.LogRecord:
        # On a busy server, waking up for each line would cost more than the lines.
        if self._records.empty():
            time.sleep(GATHER_SECONDS)
        return super().dequeue(block)


class _LineFormatter(logging.Formatter):
    def __init__(self, render: Render) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        # A record's message may be any object; here it is the data of the line.
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
