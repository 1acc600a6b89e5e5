"""The source of time, and the one text format of instants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """`2026-11-14T09:30:00.123Z`: fixed width, so that text order is time order."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:23] + "Z"


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)
