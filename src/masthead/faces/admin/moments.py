"""Times that staff types, in the site's time zone."""

from __future__ import annotations

from datetime import UTC, datetime

from masthead.base import clock
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import words
from masthead.faces.admin.environment import long_day, whole_day
from masthead.faces.admin.request import AdminRequest

NO_TIME = Problem("validation_invalid_date", words("Choose a day and a time."))
PAST = Problem("validation_past", words("Choose a time in the future."))


def future_moment(request: AdminRequest, name: str, typed: str) -> str:
    """Raises Invalid for the field of this name."""
    moment = read_moment(request, name, typed)
    if clock.from_text(moment) <= request.now:
        raise Invalid({name: PAST})
    return moment


def read_moment(request: AdminRequest, name: str, typed: str) -> str:
    """Raises Invalid for the field of this name."""
    moment = _read(request, typed)
    if moment is None:
        raise Invalid({name: NO_TIME})
    return clock.to_text(moment)


def past_in_words(request: AdminRequest, typed: str) -> str:
    """A sentence about a time that has passed; empty for another one, and for none."""
    moment = _read(request, typed)
    if moment is None or moment > request.now:
        return ""
    now = request.now.astimezone(request.time_zone)
    there = words(
        "That time has passed: it is %(time)s on %(day)s (%(zone)s) now.",
        time=f"{now:%H:%M}",
        day=long_day(now),
        zone=request.time_zone,
    )
    return f"{there} {PAST.message}"


def _read(request: AdminRequest, typed: str) -> datetime | None:
    try:
        chosen = datetime.fromisoformat(typed)
        return chosen.replace(tzinfo=request.time_zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def typed_moment(request: AdminRequest, at: str) -> str:
    """As the field of a form holds it."""
    return f"{request.local(at):%Y-%m-%dT%H:%M}" if at else ""


def moment_in_words(request: AdminRequest, at: str) -> str:
    moment = request.local(at)
    return words(
        "on %(day)s at %(time)s (%(zone)s)",
        day=whole_day(moment),
        time=f"{moment:%H:%M}",
        zone=request.time_zone,
    )


def typed_in_words(request: AdminRequest, typed: str) -> str:
    try:
        return moment_in_words(request, future_moment(request, "", typed))
    except Invalid:
        return words("at the time that you choose")
