"""Times that staff types, in the site's time zone."""

from __future__ import annotations

from datetime import UTC, datetime

from masthead import clock
from masthead.admin.request import AdminRequest
from masthead.errors import Invalid, Problem

NO_TIME = Problem("validation_invalid_date", "Choose a day and a time.")
PAST = Problem("validation_past", "Choose a time in the future.")


def future_moment(request: AdminRequest, name: str, typed: str) -> str:
    """Raises Invalid for the field of this name."""
    try:
        chosen = datetime.fromisoformat(typed)
        moment = chosen.replace(tzinfo=request.time_zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid({name: NO_TIME}) from error
    if moment <= request.now:
        raise Invalid({name: PAST})
    return clock.to_text(moment)


def typed_moment(request: AdminRequest, at: str) -> str:
    """As the field of a form holds it."""
    return f"{request.local(at):%Y-%m-%dT%H:%M}" if at else ""


def moment_in_words(request: AdminRequest, at: str) -> str:
    moment = request.local(at)
    return f"on {moment:%A}, {moment.day} {moment:%B %Y} at {moment:%H:%M} ({request.time_zone})"


def typed_in_words(request: AdminRequest, typed: str) -> str:
    try:
        return moment_in_words(request, future_moment(request, "", typed))
    except Invalid:
        return "at the time that you choose"
