"""Complimentary access of one member: given until the end of a day, or taken back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from masthead.base import clock
from masthead.base.errors import BadRequest, Invalid, Problem
from masthead.base.languages.formats import shown_date
from masthead.base.languages.translators import spoken_now
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.pages.members.listing import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.record_view import MemberRecord
from masthead.features.payments.access import end_access, give_access

LEVEL, UNTIL = "access_tier_id", "access_until"
LABELS = {LEVEL: words("Tier"), UNTIL: words("Last day")}
_NO_DAY = Problem("validation_invalid_date", words("Choose a day."))
_PAST = Problem("validation_past", words("Choose a day that is not over."))
_UNKNOWN = Problem("validation_missing_rel_records", words("Choose one of the tiers."))


async def change_access(request: AdminRequest, member_id: str) -> Answer:
    action = request.form.get("do", "")
    if action not in ("give", "end"):
        raise BadRequest(words("Choose what to do with the access."))
    until = _end_of_day(request) if action == "give" else ""
    level = request.form.get(LEVEL, "")
    async with request.records.unit(request.caller) as unit:
        if action == "end":
            await end_access(unit, member_id)
            return Redirect(f"{ADDRESS}/{member_id}", words("The complimentary access has ended."))
        try:
            await give_access(unit, member_id, until=until, tier_id=level)
        except Invalid as error:
            raise Invalid({LEVEL: _UNKNOWN}) from error
    return Redirect(f"{ADDRESS}/{member_id}", words("The access is given."))


def access_values(
    request: AdminRequest, member: MemberRecord, names: Mapping[str, str]
) -> dict[str, Any]:
    """For `members/_access.html`."""
    stored, form = member["access_until"], request.form if request.problems else {}
    shown = request.local(stored) - timedelta(milliseconds=1) if stored else None
    level = form.get(LEVEL, member["access_tier_id"])
    return {
        "given_until": shown_date(shown, "long", spoken_now().spoken) if shown else "",
        "given_level": names.get(member["access_tier_id"], ""),
        "access_levels": [(each, name, each == level) for each, name in names.items()],
        "access_day": form.get(UNTIL, f"{shown:%Y-%m-%d}" if shown else ""),
    }


def _end_of_day(request: AdminRequest) -> str:
    try:
        last = date.fromisoformat(request.form.get(UNTIL, ""))
        following = datetime.combine(last + timedelta(days=1), time(), request.time_zone)
        until = following.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid({UNTIL: _NO_DAY}) from error
    if until <= request.now:
        raise Invalid({UNTIL: _PAST})
    return clock.to_text(until)
