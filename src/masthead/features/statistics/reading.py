"""The numbers of a site over some days: views and readers, and who joined or paid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.engine import Records
from masthead.features.members.collection import MEMBERS_JOINED, MEMBERS_PAID
from masthead.features.posts.collection import posts
from masthead.features.statistics.storing import POST, SITE, SOURCE
from masthead.features.statistics.tables import view_counts
from masthead.storage import dialects
from masthead.storage.database import scope_of

TOP: Final = 50
"""The most posts and the most sources of a list."""
_GAINS: Final = (MEMBERS_JOINED, MEMBERS_PAID)


class Numbers(NamedTuple):
    views: int = 0
    readers: int = 0
    joined: int = 0
    paid: int = 0

    def plus(self, other: Numbers) -> Numbers:
        return Numbers(*(one + more for one, more in zip(self, other, strict=True)))


class PostNumbers(NamedTuple):
    post_id: str
    title: str
    """Empty for a post that was deleted."""
    numbers: Numbers


class SourceNumbers(NamedTuple):
    source: str
    views: int
    readers: int


class Report(NamedTuple):
    total: Numbers
    days: list[tuple[date, Numbers]]
    """Every day, ascending."""
    posts: list[PostNumbers]
    sources: list[SourceNumbers]


class Statistics:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._database = records.database
        self._days = self._database.compile(_of_days())
        self._tops = {kind: self._database.compile(_most_viewed(kind)) for kind in (POST, SOURCE)}

    async def of_site(self, tenant_id: TenantId, first: date, last: date) -> Report:
        days = await self._of_days(tenant_id, SITE, "", first=first, last=last)
        return Report(
            _sum([numbers for _, numbers in days]),
            days,
            await self._of_posts(tenant_id, first, last),
            [SourceNumbers(*row) for row in await self._most(tenant_id, SOURCE, first, last)],
        )

    async def of_post(
        self, tenant_id: TenantId, post_id: str, first: date, last: date
    ) -> Report | None:
        """None if the site has no such post."""
        found = await self._records.find_some(posts, [post_id], tenant_id)
        if not found:
            return None
        days = await self._of_days(tenant_id, POST, post_id, first=first, last=last)
        total = _sum([numbers for _, numbers in days])
        return Report(total, days, [PostNumbers(post_id, found[0]["title"], total)], [])

    async def days_of_site(
        self, tenant_id: TenantId, first: date, last: date
    ) -> list[tuple[date, Numbers]]:
        return await self._of_days(tenant_id, SITE, "", first=first, last=last)

    async def _of_days(
        self, tenant_id: TenantId, kind: str, subject: str, *, first: date, last: date
    ) -> list[tuple[date, Numbers]]:
        names = [day.isoformat() for day in days_between(first, last)]
        values = {
            "tenant": tenant_id,
            "kind": kind,
            "days": self._database.list_value(names),
            "subject": subject,
        }
        rows = await self._database.fetch(scope_of(tenant_id), *self._days(values), slow=True)
        seen = {day: (views, readers) for day, views, readers in rows}
        gained = await self._gains(tenant_id, [subject], first)
        joined, paid = (gained[metric, subject] for metric in _GAINS)
        return [
            (
                date.fromisoformat(day),
                Numbers(*seen.get(day, (0, 0)), joined.get(day, 0), paid.get(day, 0)),
            )
            for day in names
        ]

    async def _of_posts(self, tenant_id: TenantId, first: date, last: date) -> list[PostNumbers]:
        rows = await self._most(tenant_id, POST, first, last)
        post_ids = [post_id for post_id, _, _ in rows]
        if not post_ids:
            return []
        found = await self._records.find_some(posts, post_ids, tenant_id)
        titles = {each["id"]: each["title"] for each in found}
        gained = await self._gains(tenant_id, post_ids, first)
        until = last.isoformat()

        def gains(post_id: str) -> list[int]:
            by_day = (gained[metric, post_id] for metric in _GAINS)
            return [sum(n for day, n in each.items() if day <= until) for each in by_day]

        return [
            PostNumbers(post_id, titles.get(post_id, ""), Numbers(views, readers, *gains(post_id)))
            for post_id, views, readers in rows
        ]

    async def _most(
        self, tenant_id: TenantId, kind: str, first: date, last: date
    ) -> list[tuple[str, int, int]]:
        statement = self._tops[kind]
        values = {"tenant": tenant_id, "first": first.isoformat(), "last": last.isoformat()}
        rows = await self._database.fetch(scope_of(tenant_id), *statement(values), slow=True)
        return [(subject, int(views), int(readers)) for subject, views, readers in rows]

    async def _gains(
        self, tenant_id: TenantId, subjects: Sequence[str], first: date
    ) -> dict[tuple[str, str], dict[str, int]]:
        return await self._records.daily.read(
            scope_of(tenant_id), tenant_id, _GAINS, subjects, since=first.isoformat()
        )


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _sum(numbers: Sequence[Numbers]) -> Numbers:
    total = Numbers()
    for each in numbers:
        total = total.plus(each)
    return total


def _of_days() -> sa.Select[Any]:
    """Days by name: they find the rows of one post in an index that has all posts of a day."""
    t = view_counts.c
    return sa.select(t.day, t.views, t.readers).where(
        t.tenant_id == sa.bindparam("tenant"),
        t.kind == sa.bindparam("kind"),
        dialects.any_of(t.day, sa.bindparam("days")),
        t.subject == sa.bindparam("subject"),
    )


def _most_viewed(kind: str) -> sa.Select[Any]:
    t = view_counts.c
    views = sa.func.sum(t.views).label("all_views")
    return (
        sa.select(t.subject, views, sa.func.sum(t.readers))
        .where(
            t.tenant_id == sa.bindparam("tenant"),
            t.kind == kind,
            t.day >= sa.bindparam("first"),
            t.day <= sa.bindparam("last"),
        )
        .group_by(t.subject)
        .order_by(views.desc(), t.subject)
        .limit(TOP)
    )
