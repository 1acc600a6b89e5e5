"""How many read each newsletter, and how many more than 30 days ago: from counters, so that no page
reads members."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Final

import msgspec

from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals, has_item
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import (
    NO_LONGER_SUBSCRIBED,
    SUBSCRIBED,
    TURNED_OFF,
    TURNED_ON,
    blog_members,
)

DAYS: Final = 30
_GETS: Final = ("active", "past_due")
"""The statuses of members who get newsletters."""


class Growth(msgspec.Struct, frozen=True):
    readers: int
    gained: int
    """In 30 days, or fewer than none."""


async def growth_of(request: AdminRequest, slugs: Sequence[str]) -> dict[str, Growth]:
    """Readers of one are all subscribers without those who have turned it off."""
    everyone = await _total(request)
    since = f"{request.now.astimezone(UTC) - timedelta(days=DAYS - 1):%Y-%m-%d}"
    metrics = (SUBSCRIBED, NO_LONGER_SUBSCRIBED, TURNED_ON, TURNED_OFF)
    by_day = await request.records.counts.by_day(
        request.caller, blog_members, metrics, since, subjects=["", *slugs]
    )

    def number(metric: str, subject: str = "") -> int:
        return sum(by_day.get((metric, subject), {}).values())

    joined = number(SUBSCRIBED) - number(NO_LONGER_SUBSCRIBED)
    return {
        slug: Growth(
            max(everyone - await _total(request, has_item("newsletters_off", slug)), 0),
            joined + number(TURNED_ON, slug) - number(TURNED_OFF, slug),
        )
        for slug in slugs
    }


async def _total(request: AdminRequest, *more: Expression) -> int:
    total = 0
    for status in _GETS:
        found = all_of([equals("status", status), equals("newsletter", True), *more])
        assert found is not None
        total += await request.records.counts.total(request.caller, blog_members, found)
    return total
