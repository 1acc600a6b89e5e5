"""Parses the Retry-After header, which is a number of seconds or a date."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_retry_after(header: str | None, now: datetime) -> int | None:
    """The seconds to wait; None for a missing or invalid header."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        # Ten digits are three centuries; more would overflow a date.
        return int(text[:10])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # "-0000" makes it naive; HTTP dates are always in GMT.
    return max(0, round((moment.replace(tzinfo=UTC) - now).total_seconds()))
