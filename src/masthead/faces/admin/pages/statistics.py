"""The numbers of the site, and of one post: views, readers, and who joined or paid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Any, Final

import msgspec

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.content.texts.editing import open_text
from masthead.faces.admin.charts import Day, bar_chart
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.environment import day as shown_day
from masthead.faces.admin.environment import long_day, number, short_day
from masthead.faces.admin.month import Stat
from masthead.faces.admin.newsletter_growth import Growth, growth_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.members.newsletters import newsletters
from masthead.features.statistics.reading import Numbers, Report

ADDRESS: Final = "/admin/statistics"
OF_POST: Final = "/admin/posts/{id}/statistics"
SPANS: Final = (7, 30, 90, 365)
_USUAL: Final = 30
_WEEK: Final = 7
MOST_NEWSLETTERS: Final = 50

Days = Sequence[tuple[date, Numbers]]


class Letter(msgspec.Struct, frozen=True):
    name: str
    growth: Growth


async def statistics_page(request: AdminRequest) -> Answer:
    assert request.site is not None
    span = _span(request)
    report = await request.services.statistics.of_site(request.site.id, *_ends(request, span))
    values = {
        **_values(request, report, span, ADDRESS),
        "posts": report.posts,
        "sources": report.sources,
        "letters": await _letters(request),
    }
    return Page(
        "statistics/site.html", words("Statistics"), values, fragment="statistics/_site.html"
    )


async def post_statistics(request: AdminRequest, post_id: str) -> Answer:
    """Authors see the numbers of their own posts."""
    assert request.site is not None
    opened = await open_text(request.records, request.caller, POSTS.kind, post_id)
    if request.caller.is_writer and request.caller.id not in opened.values["authors"]:
        raise NotFound
    span = _span(request)
    report = await request.services.statistics.of_post(
        request.site.id, post_id, *_ends(request, span)
    )
    if report is None:
        raise NotFound
    own = POSTS.url(post_id)
    values = {
        **_values(request, report, span, f"{own}/statistics"),
        "own": own,
        "title": opened.values["title"],
    }
    return Page(
        "statistics/post.html", words("Statistics"), values, fragment="statistics/_post.html"
    )


def _span(request: AdminRequest) -> int:
    given = request.query.get("days", "")
    return next((each for each in SPANS if given == str(each)), _USUAL)


def _ends(request: AdminRequest, span: int) -> tuple[date, date]:
    today = request.now.astimezone(UTC).date()
    return today - timedelta(days=span - 1), today


def _values(request: AdminRequest, report: Report, span: int, address: str) -> dict[str, Any]:
    tabs = [
        (str(words("%(number)s days", number=each)), f"{address}?days={each}", each == span, None)
        for each in SPANS
    ]
    return {
        "tabs": tabs,
        "span": span,
        "charts": charts_of(report.days, span),
        "is_counting": request.site_record["count_views"],
        "is_utc": request.time_zone.key == "UTC",
    }


def charts_of(days: Days, span: int) -> list[Stat]:
    return [
        _chart(words("Views"), "views", days, span),
        _chart(words("Readers"), "readers", days, span),
        _chart(words("Joined"), "joined", days, span),
        _chart(words("Paid"), "paid", days, span),
    ]


def _chart(title: str, name: str, days: Days, span: int) -> Stat:
    counts = [(day, int(getattr(numbers, name))) for day, numbers in days]
    total, (best, most) = sum(count for _, count in counts), max(counts, key=lambda each: each[1])
    sentence = words(
        "%(title)s: %(total)s in %(days)s days", title=title, total=number(total), days=span
    )
    note = words("None yet")
    if most:
        note = words("Most on %(day)s: %(number)s", day=short_day(best), number=number(most))
        sentence = words(
            "%(sentence)s; most on %(day)s: %(number)s",
            sentence=sentence,
            day=long_day(best),
            number=number(most),
        )
    return Stat(title, total, note, bar_chart(sentence, _columns(counts, span), title))


def _columns(counts: Sequence[tuple[date, int]], span: int) -> list[Day]:
    """One for each day; weeks for a year, the last of which ends today."""
    if span <= SPANS[-2]:
        return [Day(short_day(day), count) for day, count in counts]
    weeks = [counts[max(end - _WEEK, 0) : end] for end in range(len(counts), 0, -_WEEK)]
    return [Day(shown_day(week[0][0]), sum(count for _, count in week)) for week in reversed(weeks)]


async def _letters(request: AdminRequest) -> list[Letter]:
    found = await request.first(newsletters, MOST_NEWSLETTERS, sort="created")
    growth = await growth_of(request, [each["slug"] for each in found])
    return [Letter(each["name"], growth[each["slug"]]) for each in found]
