"""Requests that mean a later publication, which must not publish the text at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from masthead.base import clock
from masthead.base.errors import Problem
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.fields.values import read_moment

Check = Callable[[Mapping[str, Any], datetime], Mapping[str, Problem]]


def refuse_scheduled_status(status: Problem, later: Mapping[str, Problem]) -> Check:
    """`status` is the problem of the status "scheduled", `later` those of times to come beside the
    status "published"."""

    def check(given: Mapping[str, Any], now: datetime) -> Mapping[str, Problem]:
        if given.get("status") == "scheduled":
            return {"status": status}
        if given.get("status") != PUBLISHED:
            return {}
        return {name: each for name, each in later.items() if _is_to_come(given.get(name), now)}

    return check


def _is_to_come(given: object, now: datetime) -> bool:
    moment = read_moment(given) if isinstance(given, str) else None
    return bool(moment and moment > clock.to_text(now))


POSTS_LATER: Final = refuse_scheduled_status(
    Problem(
        "validation_invalid_value",
        "Must be one of: draft, published. To publish the post later, send `scheduled_for` with "
        "the status draft or none.",
    ),
    {
        "published_at": Problem(
            "validation_not_settable",
            "Can't be set to a future date. To publish the post later, send `scheduled_for` with "
            "this date, and the status draft or none.",
        ),
        "scheduled_for": Problem(
            "validation_scheduled_draft",
            "Only a draft can be scheduled. Send the status draft or none with scheduled_for, or "
            "send the status published without it to publish the post now.",
        ),
    },
)
_NO_SCHEDULE: Final = Problem(
    "validation_not_settable",
    "Pages have no schedule. Send the status draft now, and the status published at the time.",
)
PAGES_LATER: Final = refuse_scheduled_status(
    Problem(
        "validation_invalid_value", f"Must be one of: draft, published. {_NO_SCHEDULE.message}"
    ),
    {"published_at": _NO_SCHEDULE, "scheduled_for": _NO_SCHEDULE},
)
