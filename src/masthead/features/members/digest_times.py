"""When the next weekly digest of a newsletter is due: at an hour of a weekday in the site's time
zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from masthead.base import clock
from masthead.engine.records.changes import Save
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.values import Date, Flag, Number, Select

WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEK: Final = timedelta(days=7)

DIGEST_FIELDS: Final = (
    Flag(
        name="digest",
        help="Whether readers get an email once a week with the posts that were published and that "
        "they can read. None is sent for a week without posts.",
    ),
    Select(name="digest_weekday", values=WEEKDAYS, default=WEEKDAYS[0]),
    Number(
        name="digest_hour", min=0, max=23, default=8, help="In the time zone of the site, 0 to 23."
    ),
    Date(
        name="digest_at",
        read=Access.EDITOR,
        write=Access.ENGINE,
        help="When the next digest is due; empty while there is none.",
    ),
    Date(
        name="digest_since",
        read=Access.EDITOR,
        write=Access.ENGINE,
        help="The next digest has the posts that were published after this.",
    ),
)


def stamp_digest(save: Save) -> Mapping[str, Any]:
    old, new = save.old, save.new
    if not new["digest"]:
        return {"digest_at": "", "digest_since": ""}
    asked = ("digest", "digest_weekday", "digest_hour")
    if old is not None and all(old[name] == new[name] for name in asked):
        return {}
    zone = save.site.settings.get("time_zone", "")
    due = next_digest(new, clock.from_text(save.now), zone)
    since = old["digest_since"] if old is not None else ""
    return {
        "digest_at": clock.to_text(due),
        "digest_since": since or clock.to_text(due - WEEK),
    }


def next_digest(newsletter: Record, after: datetime, time_zone: str) -> datetime:
    zone = ZoneInfo(time_zone or "UTC")
    local = after.astimezone(zone)
    days = (WEEKDAYS.index(newsletter["digest_weekday"]) - local.weekday()) % 7
    hour = time(int(newsletter["digest_hour"]))
    due = datetime.combine(local.date() + timedelta(days=days), hour, zone)
    if due <= after:
        # By the calendar: a week with a change of the clock is not 168 hours long.
        due = datetime.combine(due.date() + WEEK, hour, zone)
    return due.astimezone(after.tzinfo)
