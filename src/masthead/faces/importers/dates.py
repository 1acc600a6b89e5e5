"""Parses the dates of exports, in the formats that the platforms write."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from masthead.base import clock
from masthead.base.languages.words import staff_marked

# Epoch seconds are below this until the year 5138; milliseconds passed it in 1973.
_SMALLEST_MILLISECONDS: Final = 100_000_000_000
_NUMBER: Final = re.compile(r"\d{9,14}")
_NAMED_MONTH: Final = ("%b %d, %Y", "%B %d, %Y")
_MAX_LENGTH: Final = 40


PASSED: Final = staff_marked("It was scheduled for a time that has passed, so it is a draft now.")
NO_TIME: Final = staff_marked("Its scheduled time can't be read, so it is a draft now.")


def utc_text(value: object) -> str:
    """'' for a value that is no date, has an ambiguous order of day and month, or is in the future.

    A time without an offset is UTC: the platforms write no other.
    """
    moment = any_utc_text(value)
    return "" if moment > clock.to_text(clock.now() + timedelta(days=1)) else moment


def any_utc_text(value: object) -> str:
    """The same, of any time."""
    try:
        moment = _moment(value)
        return "" if moment is None else clock.to_text(moment)
    except (ValueError, OverflowError, OSError):
        return ""


def schedule(moment: str, warnings: list[str]) -> str:
    """When a scheduled post is to be published; '' with a warning where it can't be."""
    if moment > clock.to_text(clock.now()):
        return moment
    warnings.append(PASSED if moment else NO_TIME)
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
    moment = _parse_named_month(text) if text[0].isalpha() else _parse_iso(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _of_epoch(number: float) -> datetime:
    seconds = number / 1000 if number >= _SMALLEST_MILLISECONDS else number
    return datetime.fromtimestamp(seconds, UTC)


def _parse_iso(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("UTC").removesuffix("GMT").rstrip())


def _parse_named_month(text: str) -> datetime:
    for date_format in _NAMED_MONTH:
        try:
            return datetime.strptime(text, date_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(text)


def created_stamp(moment: str, now: datetime) -> dict[str, str]:
    """`created` of an imported record: the date at the source, because lists are sorted by it."""
    return {"created": moment} if "" < moment <= clock.to_text(now) else {}
