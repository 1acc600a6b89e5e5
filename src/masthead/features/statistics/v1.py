"""The public API of the numbers of a site."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from msgspec import Meta, Struct, field

from masthead.base import ids
from masthead.base.errors import Invalid, Problem
from masthead.features.statistics.reading import (
    TOP,
    Numbers,
    PostNumbers,
    Report,
    SourceNumbers,
    Statistics,
)
from masthead.web.openapi.builders import ID
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import Route, Shape

MAX_DAYS: Final = 366

_Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
_Readers = Annotated[
    int,
    Meta(
        description="Over several days the sum of each day's readers. Views with `Sec-GPC: 1` or "
        "`DNT: 1` have none."
    ),
]
_Gained = Annotated[
    int, Meta(description="Of the site all; of a post those who followed a link in it.")
]


class StatsDay(Struct, frozen=True):
    date: _Day
    views: int
    readers: _Readers
    joined: _Gained
    paid: _Gained


class StatsPost(Struct, frozen=True):
    post_id: str
    title: Annotated[str, Meta(description="Empty if the post was deleted.")]
    views: int
    readers: _Readers
    joined: _Gained
    paid: _Gained


class StatsSource(Struct, frozen=True):
    source: Annotated[
        str, Meta(description="`direct`, a name such as `example.com`, or `other`.", max_length=80)
    ]
    views: int
    readers: _Readers


class StatsData(Struct, frozen=True):
    from_: _Day = field(name="from")
    to: _Day
    views: int
    readers: _Readers
    joined: _Gained
    paid: _Gained
    days: Annotated[list[StatsDay], Meta(description="Every day, ascending.", max_length=MAX_DAYS)]
    posts: Annotated[list[StatsPost], Meta(description="Most viewed first.", max_length=TOP)]
    sources: Annotated[list[StatsSource], Meta(description="Most viewed first.", max_length=TOP)]


class Stats(Struct, frozen=True):
    data: StatsData


FROM = Parameter("from", "The first day, in UTC.", "date", required=True, example="2026-11-01")
TO = Parameter(
    "to",
    f"The last day, in UTC; at most {MAX_DAYS} days with the first one.",
    "date",
    required=True,
    example="2026-11-30",
)
POST_ID = Parameter("post_id", "Only the numbers of this post.", maximum=ids.LENGTH)


async def view_stats(call: Call) -> Stats:
    first, last, post_id = (call.query[name] for name in ("from", "to", "post_id"))
    _check_span(first, last)
    statistics = call.services.group(Statistics)
    if not post_id:
        return _shown(first, last, await statistics.of_site(call.tenant.id, first, last))
    report = None
    if ids.is_id(post_id):
        report = await statistics.of_post(call.tenant.id, post_id, first, last)
    if report is None:
        raise _wrong("post_id", "There is no such post.")
    return _shown(first, last, report)


def _check_span(first: date, last: date) -> None:
    if first > last:
        raise _wrong("from", "Must not be after `to`.")
    if (last - first).days >= MAX_DAYS:
        raise _wrong("to", f"Must be at most {MAX_DAYS} days from the first one.")


def _wrong(name: str, message: str) -> Invalid:
    problem = Problem("validation_invalid_value", message)
    return Invalid({name: problem}, "A query parameter is not valid.")


def _shown(first: date, last: date, report: Report) -> Stats:
    return Stats(
        StatsData(
            first.isoformat(),
            last.isoformat(),
            *report.total,
            days=[StatsDay(day.isoformat(), *numbers) for day, numbers in report.days],
            posts=[StatsPost(each.post_id, each.title, *each.numbers) for each in report.posts],
            sources=[StatsSource(*each) for each in report.sources],
        )
    )


_DAY: Final = date(2026, 11, 14)
_NUMBERS: Final = Numbers(1_204, 871, 12, 3)
_EXAMPLE: Final = Report(
    _NUMBERS,
    [(_DAY, _NUMBERS)],
    [PostNumbers(ID, "The lighthouse keeps its own hours", Numbers(640, 512, 9, 2))],
    [SourceNumbers("direct", 801, 590), SourceNumbers("example.com", 403, 281)],
)

# Not cached: the counts change without a change of a record.
routes = (
    Route(
        "GET",
        "/stats",
        view_stats,
        "stats:read",
        Shape.UNWRAPPED,
        example=_shown(_DAY, _DAY, _EXAMPLE),
        parameters=(FROM, TO, POST_ID),
        summary="View the numbers of the site or of a post",
    ),
)
