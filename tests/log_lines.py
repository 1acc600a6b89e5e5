"""The lines that the service logs, as values."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from masthead.base import logs


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """All lines until the end of the block."""
    captured = _Captured(logging.DEBUG)
    logger = logging.getLogger("masthead")
    level = logger.level
    logger.addHandler(captured)
    logger.setLevel(logging.DEBUG)
    try:
        yield captured.lines
    finally:
        logger.setLevel(level)
        logger.removeHandler(captured)


@contextmanager
def own_logs() -> Iterator[None]:
    """Restores at the end of the block the logging that it found."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        yield
    finally:
        logs.close_access_log()
        root.handlers = handlers
        root.setLevel(level)


class _Captured(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, Any] = getattr(record, "facts", {})
        level = record.levelname.lower()
        self.lines.append({"event": record.getMessage(), "log_level": level, **facts})
