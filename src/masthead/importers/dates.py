"""The dates of exports, in their many spellings, as the service's own text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from masthead import clock

# Epoch seconds stay below this for three thousand years, milliseconds passed it in 1973.
_SMALLEST_MILLISECONDS: Final = 100_000_000_000
_NUMBER: Final = re.compile(r"\d{9,14}")
_WRITTEN_OUT: Final = ("%b %d, %Y", "%B %d, %Y")
_MAX_LENGTH: Final = 40


def utc_text(value: object) -> str:
    """'' for whatever is no date, has no clear order of day and month, or lies in the future.

    A local time without an offset counts as UTC: the platforms write nothing else.
    """
    try:
        moment = _moment(value)
        if moment is None or moment > clock.now() + timedelta(days=1):
            return ""
        return clock.to_text(moment)
    except (ValueError, OverflowError, OSError):
        return ""


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return _of_epoch(value)
    text = value.strip()
    if not text or len(text) > _MAX_LENGTH:
        return None
    if _NUMBER.fullmatch(text):
        return _of_epoch(int(text))
    moment = _of_words(text) if text[0].isalpha() else _of_digits(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _of_epoch(number: float) -> datetime:
    seconds = number / 1000 if number >= _SMALLEST_MILLISECONDS else number
    return datetime.fromtimestamp(seconds, UTC)


def _of_digits(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("UTC").removesuffix("GMT").rstrip())


def _of_words(text: str) -> datetime:
    for form in _WRITTEN_OUT:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(text)


def first_made(moment: str, now: datetime) -> dict[str, str]:
    """What an imported record is stamped with. Lists go by it: ten years of posts must not all be
    of today, nor any of tomorrow."""
    return {"created": moment} if "" < moment <= clock.to_text(now) else {}
