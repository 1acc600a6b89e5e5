"""Replays: the events of a span of time are sent to a subscription again, whether they were sent
before or not.

The call counts them, and a job makes the deliveries in batches. The id of each delivery follows
from the replay and the event, so that a job that begins again after a crash makes none twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from masthead.base import clock, ids
from masthead.base.errors import Invalid, Problem, WrongState
from masthead.base.ids import TenantId
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import staff_words
from masthead.engine.audit.collection import REPLAYED_EVENTS
from masthead.engine.audit.entries import log_action
from masthead.engine.events.names import EVENT_NAMES, TEST_PING
from masthead.engine.events.outbox import events
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.features.webhooks.collection import (
    ALL_EVENTS,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.event_filter import passes
from masthead.features.webhooks.tables import webhook_lanes
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, scope_of

REPLAY: Final = "webhooks.replay"
LONGEST: Final = timedelta(days=30)
MOST: Final = 10_000
"""The most events that one call reads, so that it costs no more than a large page."""
PREVIEWED: Final = 20
_FILTER_SECONDS: Final = 2.0
"""For all of them: a filter may be slow for each."""
_PAGE: Final = 200
_SKEW: Final = timedelta(minutes=1)
"""Clocks of two servers differ by less."""
_TIME_CHARACTERS: Final = 8
_tenant: Any = sa.bindparam("tenant")
_name: Any = sa.bindparam("name")
_LONG: Final = Problem(
    "validation_invalid_date",
    staff_words("Must be at most %(number)s days after the beginning.", number=LONGEST.days),
)
_BACKWARDS: Final = Problem("validation_invalid_date", staff_words("Must be after the beginning."))
_MANY: Final = Problem(
    "validation_invalid_value",
    staff_words(
        "There are too many events until then: a replay has at most %(number)s. Choose an earlier "
        "time, and replay the others afterwards.",
        number=Numeral(MOST),
    ),
)
_NOT_CHOSEN: Final = Problem(
    "validation_invalid_value", staff_words("The webhook does not get all of these events.")
)
_IS_OFF: Final = staff_words("The webhook is off. Turn it on before you send events again.")


class Span(Struct, frozen=True):
    """Which events of a subscription: from `since` on and before `until`."""

    since: str
    until: str
    names: tuple[str, ...]
    filter: str


class Replay(Struct, frozen=True):
    id: str
    """A second one with the same id makes no deliveries."""
    webhook_id: str
    span: Span
    total: int


class LoggedEvent(NamedTuple):
    version: int
    ordinal: int
    id: str
    name: str
    created: str
    payload: str
    """'' where no filter needs it."""


def check_span(since: str, until: str) -> None:
    """Raises Invalid for `to`."""
    begin, end = clock.from_text(since), clock.from_text(until)
    if end <= begin:
        raise Invalid({"to": _BACKWARDS})
    if end - begin > LONGEST:
        raise Invalid({"to": _LONG})


def span_of(
    subscription: Record, since: str, until: str, names: Sequence[str] = (), *, now: datetime
) -> Span:
    """The events that the subscription would get if they happened now: by its list and its filter,
    and only those of `names` if there are any. Raises Invalid for `to` or `events`, and WrongState
    for a subscription that is off."""
    check_span(since, until)
    listed = names_of(subscription["events"])
    if not set(names) <= set(listed):
        raise Invalid({"events": _NOT_CHOSEN})
    if subscription["disabled_at"]:
        raise WrongState(_IS_OFF)
    # What happens from now on is sent in any case.
    until = min(until, clock.to_text(now))
    return Span(since, until, tuple(names) or listed, subscription["filter"])


def names_of(listed: Any) -> tuple[str, ...]:
    """All that it gets by its list of events. A test is only for the subscription that it tests."""
    names = msgspec.json.decode(listed) if isinstance(listed, msgspec.Raw) else listed
    everything = EVENT_NAMES if ALL_EVENTS in names else names
    return tuple(name for name in everything if name != TEST_PING)


async def start_replay(unit: Unit, replay: Replay, name: str) -> None:
    """`name`: the subscription's, for the audit log."""
    unit.refuse_if_read_only()
    about = (webhook_subscriptions.name, replay.webhook_id)
    log_action(unit, REPLAYED_EVENTS, label=name, about=about)
    if replay.total:
        await unit.enqueue(REPLAY, msgspec.to_builtins(replay))


class Replays:
    def __init__(
        self, database: Database, tables: Mapping[str, sa.Table], now: clock.Clock
    ) -> None:
        self._database = database
        self._deliveries = tables[webhook_deliveries.name]
        self._subscriptions = tables[webhook_subscriptions.name]
        self._clock = now

    async def prepare(
        self, tenant_id: TenantId, webhook_id: str, span: Span, replay_id: str = ""
    ) -> Replay:
        """Counts its events; raises Invalid for `to` if there are too many."""
        found = await self._find_events(tenant_id, span, most=MOST)
        return Replay(replay_id or ids.new_id(), webhook_id, span, len(found))

    async def newest(
        self, tenant_id: TenantId, names: Sequence[str], limit: int = PREVIEWED
    ) -> list[LoggedEvent]:
        """The newest of these events, newest first."""
        # Each name by its index: the newest of a rare one may be behind a million others.
        found: list[LoggedEvent] = []
        for name in names:
            values = {"tenant": tenant_id, "name": name}
            rows = await self._database.fetch(scope_of(tenant_id), *self._sql.newest(values))
            found += [LoggedEvent(*row) for row in rows]
        return sorted(found, reverse=True)[:limit]

    def handlers(self) -> Mapping[str, Handler]:
        return {REPLAY: self._run}

    async def _run(self, job: Job) -> None:
        replay = msgspec.convert(job.payload, Replay)
        found = await self._find_events(job.tenant_id, replay.span)
        for at in range(0, len(found), _PAGE):
            job.check()
            await self._deliver(job.tenant_id, replay, found[at : at + _PAGE])

    async def _deliver(
        self, tenant_id: TenantId, replay: Replay, found: Sequence[LoggedEvent]
    ) -> None:
        """Unless the subscription was deleted or disabled meanwhile."""
        now, sql, webhook_id = clock.to_text(self._clock()), self._sql, replay.webhook_id
        key = {"tenant": tenant_id, "webhook": webhook_id}
        listed = {"tenant": tenant_id, "ids": self._database.list_value([e.id for e in found])}
        lane = {"tenant_id": tenant_id, "webhook_id": webhook_id, "due_at": now}
        rows = [
            {
                "tenant_id": tenant_id,
                "id": _delivery_id(replay.id, each.id),
                "webhook_id": webhook_id,
                "event": each.name,
                "event_id": each.id,
                "state": PENDING,
                "attempts": 0,
                "next_attempt_at": now,
                "created": now,
                "updated": now,
                "version": 1,
            }
            for each in found
        ]
        async with self._database.transaction(EVERY_TENANT) as tx:
            # The queue's row first, as in every transaction of the queue.
            await tx.execute(*sql.open_queue(lane))
            # Old events may have been deleted since they were read.
            kept = {event_id for (event_id,) in await tx.fetch(*sql.kept(listed))}
            if kept and await tx.fetch(*sql.is_on(key)):
                wanted = [sql.deliver.bind(row) for row in rows if row["event_id"] in kept]
                await tx.execute_many(sql.deliver, wanted)

    async def _find_events(
        self, tenant_id: TenantId, span: Span, most: int | None = None
    ) -> list[LoggedEvent]:
        """Oldest first, without their payloads."""
        between = await self._versions(tenant_id, span)
        found: list[LoggedEvent] = []
        read, took = 0, 0.0
        for name in span.names:
            async for page in self._pages(tenant_id, span, name, between):
                began = time.monotonic()
                found += await _matching(span.filter, page)
                read, took = read + len(page), took + time.monotonic() - began
                if most is not None and (read > most or took > _FILTER_SECONDS):
                    raise Invalid({"to": _MANY})
        return sorted(found)

    async def _pages(
        self, tenant_id: TenantId, span: Span, name: str, between: tuple[int, int]
    ) -> AsyncIterator[list[LoggedEvent]]:
        sql = self._sql.filtered if span.filter else self._sql.named
        values: dict[str, Any] = {
            **{"tenant": tenant_id, "name": name, "since": span.since, "until": span.until},
            **{"version": between[0], "ordinal": -1, "last": between[1]},
        }
        is_last = False
        while not is_last:
            rows = await self._database.fetch(scope_of(tenant_id), *sql(values), slow=True)
            is_last = len(rows) < _PAGE
            if rows:
                page = [LoggedEvent(*row) for row in rows]
                values |= {"version": page[-1].version, "ordinal": page[-1].ordinal}
                yield page

    async def _versions(self, tenant_id: TenantId, span: Span) -> tuple[int, int]:
        """Between these are all events of the span, and few others: the log has no index by time,
        but later versions have later times."""
        scope = scope_of(tenant_id)
        ((low, high),) = await self._database.fetch(scope, *self._sql.ends({"tenant": tenant_id}))
        if low is None:
            return 0, 0
        first = await self._search(tenant_id, low, high, _shifted(span.since, -_SKEW))
        return first, await self._search(tenant_id, first, high, _shifted(span.until, _SKEW))

    async def _search(self, tenant_id: TenantId, low: int, high: int, moment: str) -> int:
        """The first version that is not before the moment, by halves; else the last one."""
        while low < high:
            middle = (low + high) // 2
            values = {"tenant": tenant_id, "version": middle}
            rows = await self._database.fetch(scope_of(tenant_id), *self._sql.next_one(values))
            if rows and rows[0][0] < moment:
                low = min(rows[0][1] + 1, high)
            else:
                high = middle
        return low

    @cached_property
    def _sql(self) -> _Statements:
        return _Statements(self._database, self._deliveries, self._subscriptions)


class _Statements:
    def __init__(self, database: Database, deliveries: sa.Table, subscriptions: sa.Table) -> None:
        e, s, compile_ = events.c, subscriptions.c, database.compile
        mine = e.tenant_id == _tenant
        version: Any = sa.bindparam("version", type_=sa.BigInteger())
        ordinal: Any = sa.bindparam("ordinal", type_=sa.BigInteger())
        position, place = sa.tuple_(e.version, e.ordinal), sa.tuple_(version, ordinal)
        columns = (e.version, e.ordinal, e.id, e.name, e.created)
        # Each by itself: SQLite finds only one of two in an index.
        ends = (sa.select(end(e.version)).where(mine) for end in (sa.func.min, sa.func.max))
        self.ends = compile_(sa.select(*(each.scalar_subquery() for each in ends)))
        self.kept = compile_(
            sa.select(e.id).where(mine, dialects.any_of(e.id, sa.bindparam("ids")))
        )
        self.next_one = compile_(
            sa.select(e.created, e.version)
            .where(mine, e.version >= version)
            .order_by(e.version, e.ordinal)
            .limit(_literal(1))
        )
        of_name = (mine, e.name == _name)
        in_span = (
            *of_name,
            position > place,
            e.version <= sa.bindparam("last", type_=sa.BigInteger()),
            e.created >= sa.bindparam("since"),
            e.created < sa.bindparam("until"),
        )

        def in_order(payload: sa.ColumnElement[Any]) -> sa.Select[Any]:
            query = sa.select(*columns, payload).where(*in_span)
            return query.order_by(e.version, e.ordinal).limit(_literal(_PAGE))

        self.named = compile_(in_order(sa.literal_column("''")))
        self.filtered = compile_(in_order(e.payload))
        newest = (e.version.desc(), e.ordinal.desc())
        self.newest = compile_(
            sa.select(*columns, e.payload)
            .where(*of_name)
            .order_by(*newest)
            .limit(_literal(PREVIEWED))
        )
        self.is_on = compile_(
            sa.select(s.id).where(
                s.tenant_id == _tenant, s.id == sa.bindparam("webhook"), s.disabled_at == ""
            )
        )
        self.open_queue = compile_(
            dialects.upsert_least(webhook_lanes, ("tenant_id", "webhook_id"), "due_at")
        )
        self.deliver = compile_(
            dialects.insert_missing(
                deliveries,
                ("tenant_id", "id"),
                (
                    *("webhook_id", "event", "event_id", "state", "attempts", "next_attempt_at"),
                    *("created", "updated", "version"),
                ),
            )
        )


def _literal(count: int) -> sa.ColumnElement[int]:
    # For a parameter PostgreSQL would plan to read a tenth of the table.
    return sa.literal_column(str(count))


def _shifted(moment: str, by: timedelta) -> str:
    try:
        return clock.to_text(clock.from_text(moment) + by)
    except OverflowError:
        return moment


async def _matching(filter_: str, page: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    if not filter_:
        return list(page)

    def matching() -> list[LoggedEvent]:
        return [each._replace(payload="") for each in page if passes(filter_, each)]

    return await asyncio.to_thread(matching)


def _delivery_id(replay_id: str, event_id: str) -> str:
    """It begins with the time of the event, so that deliveries are claimed in the order of the
    events."""
    digest = hashlib.blake2b(f"{replay_id} {event_id}".encode(), digest_size=16).digest()
    number, characters = int.from_bytes(digest), ""
    for _ in range(ids.LENGTH - _TIME_CHARACTERS):
        number, place = divmod(number, len(ids.ALPHABET))
        characters += ids.ALPHABET[place]
    return event_id[:_TIME_CHARACTERS] + characters
