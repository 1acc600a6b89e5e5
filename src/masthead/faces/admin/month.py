"""The last 30 days as charts, from counts per day: views, members, posts, deliveries, API calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta

import msgspec

from masthead.base.languages.words import words
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection
from masthead.faces.admin.charts import Chart, Day, bar_chart, line_chart
from masthead.faces.admin.environment import long_day, number, short_day
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import MEMBERS_JOINED, MEMBERS_LEFT, blog_members
from masthead.features.posts.collection import POSTS_PUBLISHED, posts
from masthead.features.webhooks.collection import (
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    webhook_deliveries,
)
from masthead.identity.api_keys import api_keys
from masthead.identity.call_counts import API_CALLS

DAYS = 30


class Stat(msgspec.Struct, frozen=True):
    title: str
    total: int
    note: str
    chart: Chart


class Month:
    """The days that end with today. Counts per day are of UTC days."""

    def __init__(self, request: AdminRequest) -> None:
        self._request = request
        today = request.now.astimezone(UTC).date()
        self._days = [today - timedelta(days=back) for back in reversed(range(DAYS))]

    async def stats(self, scheduled: str) -> list[Stat]:
        """`scheduled` is the number of scheduled posts. An author sees only their own posts."""
        found = [
            await self._views(),
            await self._members(),
            await self._posts(scheduled),
            await self._deliveries(),
            await self._calls(),
        ]
        return [each for each in found if each is not None]

    async def _views(self) -> Stat | None:
        site = self._request.site
        if site is None or not self._may_read_all(blog_members):
            return None
        if not self._request.site_record["count_views"]:
            return None
        statistics = self._request.services.statistics
        days = await statistics.days_of_site(site.id, self._days[0], self._days[-1])
        views = [numbers.views for _, numbers in days]
        readers = sum(numbers.readers for _, numbers in days)
        sentence = words(
            "%(views)s views in %(days)s days by %(readers)s readers",
            views=number(sum(views)),
            days=DAYS,
            readers=number(readers),
        )
        note = (
            words("%(readers)s readers, day by day", readers=number(readers))
            if readers
            else words("None yet")
        )
        return Stat(
            words("Views"),
            sum(views),
            note,
            bar_chart(sentence, self._named(views), words("Views")),
        )

    async def _members(self) -> Stat | None:
        if not self._may_read_all(blog_members):
            return None
        joined, left = await self._counts(blog_members, MEMBERS_JOINED, MEMBERS_LEFT)
        total = await self._request.records.counts.total(self._request.caller, blog_members, "")
        totals = [total]
        for more, less in zip(joined[:0:-1], left[:0:-1], strict=True):
            totals.insert(0, max(totals[0] - more + less, 0))
        first = totals[0]
        note = words("%(joined)s joined", joined=number(sum(joined)))
        if any(left):
            note = words(
                "%(joined)s joined, %(left)s left",
                joined=number(sum(joined)),
                left=number(sum(left)),
            )
        chart = line_chart(_change(first, total), self._named(totals), words("Members"))
        return Stat(words("Members"), total, note, chart)

    async def _posts(self, scheduled: str) -> Stat:
        is_author = self._request.caller.is_writer
        subject = self._request.caller.id if is_author else ""
        (published,) = await self._counts(posts, POSTS_PUBLISHED, subject=subject)
        total = sum(published)
        sentence = words("%(number)s post in %(days)s days", number=1, days=DAYS)
        if total != 1:
            sentence = words("%(number)s posts in %(days)s days", number=number(total), days=DAYS)
        if total > 1:
            sentence = words(
                "%(number)s posts in %(days)s days, at most %(most)s on one day",
                number=number(total),
                days=DAYS,
                most=number(max(published)),
            )
        title = words("Your posts") if is_author else words("Posts")
        return Stat(
            title, total, scheduled, bar_chart(sentence, self._named(published), words("Posts"))
        )

    async def _deliveries(self) -> Stat | None:
        if not self._may_read_all(webhook_deliveries):
            return None
        metrics = (DELIVERIES_DELIVERED, DELIVERIES_DIED)
        delivered, died = await self._counts(webhook_deliveries, *metrics)
        ended = [one + other for one, other in zip(delivered, died, strict=True)]
        note = words("None died") if any(ended) else words("None yet")
        if any(died):
            note = words("%(number)s died", number=number(sum(died)))
        sentence = words(
            "%(number)s deliveries in %(days)s days; %(died)s died",
            number=number(sum(ended)),
            days=DAYS,
            died=number(sum(died)),
        )
        days = self._named(ended, died)
        return Stat(
            words("Deliveries"),
            sum(ended),
            note,
            bar_chart(sentence, days, words("Ended"), words("Died")),
        )

    async def _calls(self) -> Stat | None:
        if not self._may_read_all(api_keys):
            return None
        (calls,) = await self._counts(api_keys, API_CALLS)
        most, note = max(calls), words("None yet")
        sentence = words(
            "%(number)s API calls in %(days)s days", number=number(sum(calls)), days=DAYS
        )
        if most:
            day = self._days[calls.index(most)]
            note = words("Most on %(day)s: %(number)s", day=_short(day), number=number(most))
            sentence = words(
                "%(sentence)s; most on %(day)s: %(number)s",
                sentence=sentence,
                day=long_day(day),
                number=number(most),
            )
        return Stat(
            words("API calls"),
            sum(calls),
            note,
            bar_chart(sentence, self._named(calls), words("Calls")),
        )

    async def _counts(
        self, collection: Collection, *metrics: str, subject: str = ""
    ) -> list[list[int]]:
        """The counts of each metric, day by day."""
        found = await self._request.records.counts.by_day(
            self._request.caller, collection, metrics, self._days[0].isoformat(), subjects=[subject]
        )
        by_day = [found.get((metric, subject), {}) for metric in metrics]
        return [[each.get(day.isoformat(), 0) for day in self._days] for each in by_day]

    def _may_read_all(self, collection: Collection) -> bool:
        return collection.rules_for(access_of(self._request.caller)).read == ""

    def _named(self, counts: Sequence[int], failed: Sequence[int] = ()) -> list[Day]:
        return [
            Day(_short(day), count, failed[position] if failed else 0)
            for position, (day, count) in enumerate(zip(self._days, counts, strict=True))
        ]


def _change(first: int, total: int) -> str:
    values = {"first": number(first), "total": number(total), "days": DAYS}
    if total > first:
        return words("Members rose from %(first)s to %(total)s in %(days)s days", **values)
    if total < first:
        return words("Members fell from %(first)s to %(total)s in %(days)s days", **values)
    return words("Members stayed at %(total)s in %(days)s days", **values)


def _short(day: date) -> str:
    return short_day(day)
