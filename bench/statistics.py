"""`python -m bench.statistics`: an access log of people and robots, counted by the service. Its
counts must be exact. Measures the processor time of a view: in the path of its request, and with
everything until it is stored."""

from __future__ import annotations

import time
from itertools import islice
from typing import Final

import sqlalchemy as sa
from tests.features.statistics.access_lines import Expected, lines, tenant_of

from bench.special import Figure, finish, new_site, options, place
from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.features.statistics.counting import ViewCounts
from masthead.features.statistics.storing import ViewStore
from masthead.features.statistics.tables import view_counts
from masthead.service.services import Services
from masthead.storage.database import scope_of
from masthead.web.answers import header_lines

BETWEEN_WRITES: Final = 500
"""Requests in the seconds between two writes: a hundred a second."""
A_MONTH: Final = 10_000_000
_SECONDS: Final = 30 * 24 * 3600
_MOST_SHARE: Final = 5.0
_MOST_MICROSECONDS: Final = 3.0


def main() -> None:
    given = options("statistics", __doc__, lines=1_000_000)
    with place(given.engine) as installed:
        finish(installed.make(lambda parts: measured(parts, given.lines)))


async def measured(parts: Services, number: int) -> list[Figure]:
    tenant_id = await new_site(parts, "counted")
    site = tenant_of(tenant_id, "counted")
    counts = ViewCounts(
        ViewStore(parts.database, clock.now), parts.settings.base_domain, clock.now, 3_600
    )
    expected, in_path, written, views = Expected(), 0.0, 0.0, 0
    log = lines(number, seed=38)
    day = clock.now().date()
    while some := list(islice(log, BETWEEN_WRITES)):
        for line in some:
            expected.add(line)
            views += line.is_view
        requests = [(line.request(site), line.status) for line in some]
        for request, _ in requests:
            # The page has asked for one of them before.
            header_lines(request.scope)
        began = time.process_time()
        for request, status in requests:
            counts.note_answer(request, status, 0.0)
        noted = time.process_time()
        await counts.flush()
        in_path, written = in_path + noted - began, written + time.process_time() - noted
    if clock.now().date() != day:
        raise SystemExit("The day has ended meanwhile. Run it again.")
    stored = await _stored(parts, tenant_id)
    whole = (in_path + written) / max(views, 1)
    return [
        Figure("counts that differ from the log", _differences(expected.rows, stored), most=0),
        Figure("views", views),
        Figure("in the path of a request", in_path / number * 1e6, "µs", most=_MOST_MICROSECONDS),
        Figure("a view until it is stored", whole * 1e6, "µs"),
        Figure(
            f"of a core, for {A_MONTH:,} views a month",
            A_MONTH * whole / _SECONDS * 100,
            "%",
            most=_MOST_SHARE,
        ),
    ]


Rows = dict[tuple[str, str], tuple[int, int]]


async def _stored(parts: Services, tenant_id: TenantId) -> Rows:
    t = view_counts.c
    wanted = sa.select(t.kind, t.subject, t.views, t.readers)
    statement = parts.database.compile(wanted.where(t.tenant_id == sa.bindparam("tenant")))
    rows = await parts.database.fetch(scope_of(tenant_id), statement, (tenant_id,))
    return {(kind, subject): (views, readers) for kind, subject, views, readers in rows}


def _differences(expected: Rows, stored: Rows) -> int:
    return sum(expected.get(each) != stored.get(each) for each in expected.keys() | stored.keys())


if __name__ == "__main__":
    main()
