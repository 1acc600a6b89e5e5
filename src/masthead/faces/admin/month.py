"""The last 30 days as charts, from counts per day: views, members, posts, deliveries, API calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta

import msgspec

from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection
from masthead.faces.admin.charts import Chart, Day, bar_chart, line_chart
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
        sentence = f"{sum(views):,} views in {DAYS} days by {readers:,} readers"
        note = f"{readers:,} readers, day by day" if readers else "None yet"
        return Stat("Views", sum(views), note, bar_chart(sentence, self._named(views), "Views"))

    async def _members(self) -> Stat | None:
        if not self._may_read_all(blog_members):
            return None
        joined, left = await self._counts(blog_members, MEMBERS_JOINED, MEMBERS_LEFT)
        total = await self._request.records.counts.total(self._request.caller, blog_members, "")
        totals = [total]
        for more, less in zip(joined[:0:-1], left[:0:-1], strict=True):
            totals.insert(0, max(totals[0] - more + less, 0))
        first = totals[0]
        change = "rose from" if total > first else "fell from" if total < first else "stayed at"
        numbers = f"{first:,} to {total:,}" if total != first else f"{total:,}"
        note = f"{sum(joined):,} joined" + (f", {sum(left):,} left" if any(left) else "")
        chart = line_chart(
            f"Members {change} {numbers} in {DAYS} days", self._named(totals), "Members"
        )
        return Stat("Members", total, note, chart)

    async def _posts(self, scheduled: str) -> Stat:
        is_author = self._request.caller.is_writer
        subject = self._request.caller.id if is_author else ""
        (published,) = await self._counts(posts, POSTS_PUBLISHED, subject=subject)
        total = sum(published)
        most = f", at most {max(published):,} on one day" if total > 1 else ""
        sentence = f"{total:,} {'post' if total == 1 else 'posts'} in {DAYS} days{most}"
        title = "Your posts" if is_author else "Posts"
        return Stat(title, total, scheduled, bar_chart(sentence, self._named(published), "Posts"))

    async def _deliveries(self) -> Stat | None:
        if not self._may_read_all(webhook_deliveries):
            return None
        metrics = (DELIVERIES_DELIVERED, DELIVERIES_DIED)
        delivered, died = await self._counts(webhook_deliveries, *metrics)
        ended = [one + other for one, other in zip(delivered, died, strict=True)]
        note = f"{sum(died):,} died" if any(died) else "None died" if any(ended) else "None yet"
        sentence = f"{sum(ended):,} deliveries in {DAYS} days; {sum(died):,} died"
        days = self._named(ended, died)
        return Stat("Deliveries", sum(ended), note, bar_chart(sentence, days, "Ended", "Died"))

    async def _calls(self) -> Stat | None:
        if not self._may_read_all(api_keys):
            return None
        (calls,) = await self._counts(api_keys, API_CALLS)
        most, note = max(calls), "None yet"
        sentence = f"{sum(calls):,} API calls in {DAYS} days"
        if most:
            day = self._days[calls.index(most)]
            note = f"Most on {_short(day)}: {most:,}"
            sentence += f"; most on {day.day} {day:%B}: {most:,}"
        return Stat("API calls", sum(calls), note, bar_chart(sentence, self._named(calls), "Calls"))

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


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"
