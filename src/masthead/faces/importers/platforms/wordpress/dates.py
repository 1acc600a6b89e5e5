"""The date of publication in UTC, from the first valid date of an item."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from masthead.base import clock
from masthead.base.languages.words import staff_marked
from masthead.faces.importers.platforms.wordpress.items import Item

_MINUTES: Final = 60
_WIDEST_OFFSET: Final = 14 * 60
_NO_DATES: Final = ("-0001", "0000")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Offsets:
    """The offset of the blog's time zone, which only the pairs of dates in an export show."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, item: Item) -> None:
        local, utc = _stored(item.get("post_date")), _stored(item.get("post_date_gmt"))
        if local is None or utc is None:
            return
        minutes, rest = divmod(round((utc - local).total_seconds()), _MINUTES)
        if not rest and minutes % 15 == 0 and abs(minutes) <= _WIDEST_OFFSET:
            self._counts[minutes] += 1

    def usual(self) -> timedelta | None:
        """The most common offset, to be added to a local date. Summer time may be an hour off."""
        found = self._counts.most_common(1)
        return timedelta(minutes=found[0][0]) if found else None


def published_at(item: Item, offset: timedelta | None) -> tuple[str, str]:
    """The date in the format of `masthead.base.clock`, or ''; and a warning, or ''."""
    moment = _stored(item.get("post_date_gmt")) or _rfc822(item.get("pubDate"))
    if moment is not None:
        return clock.to_text(moment), ""
    local = _stored(item.get("post_date"))
    if local is None:
        return "", staff_marked("no usable date: the time of the import is used")
    if offset is None:
        return clock.to_text(local), staff_marked(
            "the date's time zone is not known: UTC is assumed"
        )
    try:
        return clock.to_text(local + offset), ""
    except OverflowError:
        return "", staff_marked("no usable date: the time of the import is used")


def _stored(text: str) -> datetime | None:
    """`2023-06-15 10:00:00`. No date is stored as zeros."""
    if len(text) != len("YYYY-MM-DD hh:mm:ss"):
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _rfc822(text: str) -> datetime | None:
    """For a post without a date WordPress writes the year -1, or the epoch."""
    if not text or len(text) > 100 or any(year in text[:20] for year in _NO_DATES):
        return None
    try:
        found = parsedate_to_datetime(text)
        moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return None if moment == _EPOCH else moment
