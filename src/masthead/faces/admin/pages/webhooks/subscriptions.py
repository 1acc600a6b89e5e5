"""Subscriptions as the pages show them: their state in words, and the days behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec

from masthead.base.errors import Forbidden
from masthead.base.languages.words import counted, words
from masthead.engine.events.names import EVENT_NAMES, TEST_PING
from masthead.engine.records.collection import Record
from masthead.engine.records.derived.daily_counts import ByDay, day_of
from masthead.faces.admin.charts import Chart, Day, bar_chart
from masthead.faces.admin.environment import number, short_day
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.actions import MAX_PER_TENANT
from masthead.features.webhooks.collection import (
    ALL_EVENTS,
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.delivery_log import DeliveryFilter, LoggedDelivery

ADDRESS = "/admin/webhooks"
DAYS = 30
OFFERED = tuple(name for name in EVENT_NAMES if name != TEST_PING)
"""A test is sent to the subscription that is tested, whatever it lists."""
PLAN_NEEDED = words(
    "Webhooks are part of the Pro plan and above. The operator of this service sets the plan."
)

_decode_names = msgspec.json.Decoder(list[str]).decode


def is_good(status: int | None) -> bool:
    return status is not None and 200 <= status < 300


async def read_subscriptions(request: AdminRequest) -> list[Record]:
    return await request.first(webhook_subscriptions, MAX_PER_TENANT)


async def rows_of(request: AdminRequest, records: Sequence[Record]) -> list[Record]:
    days = [day_of(request.records.clock() - timedelta(days=DAYS - 1 - n)) for n in range(DAYS)]
    ids = [each["id"] for each in records]
    counts = await request.records.counts.by_day(
        request.caller,
        webhook_deliveries,
        (DELIVERIES_DELIVERED, DELIVERIES_DIED),
        days[0],
        subjects=ids,
    )
    tests = await last_tests(request, records)
    return [
        shown(request, each, tests.get(each["id"])) | {"chart": _chart(each, days, counts)}
        for each in records
    ]


async def last_tests(
    request: AdminRequest, records: Sequence[Record]
) -> Mapping[str, LoggedDelivery]:
    """The newest test of each subscription that no event has called yet: a test is not counted in
    the subscription itself."""
    ids = {each["id"] for each in records if not each["last_delivery_at"]}
    if not ids:
        return {}
    # From an index, and not more than a page shows.
    newest = await request.services.webhooks.deliveries.log.list(
        request.tenant_id, DeliveryFilter(event=TEST_PING), limit=MAX_PER_TENANT
    )
    return {each.webhook_id: each for each in reversed(newest) if each.webhook_id in ids}


def _chart(record: Record, days: Sequence[str], counts: Mapping[tuple[str, str], ByDay]) -> Chart:
    delivered = counts.get((DELIVERIES_DELIVERED, record["id"]), {})
    died = counts.get((DELIVERIES_DIED, record["id"]), {})
    bars = [Day(day, delivered.get(day, 0) + died.get(day, 0), died.get(day, 0)) for day in days]
    sentence = words(
        "%(name)s over %(days)s days: %(delivered)s delivered, %(died)s died",
        name=record["name"],
        days=DAYS,
        delivered=number(sum(delivered.values())),
        died=number(sum(died.values())),
    )
    return bar_chart(sentence, bars)


def shown(request: AdminRequest, record: Record, test: LoggedDelivery | None = None) -> Record:
    """With its state in words, and its last answer. `is_broken`: failures have disabled it."""
    is_off = bool(record["disabled_at"])
    is_broken = is_off and not record["paused"]
    status = test.last_status if test else record["last_status"]
    was_called = bool(record["last_delivery_at"] or test)
    return record | {
        "page": f"{ADDRESS}/{record['id']}",
        "badge": _state(request, record, test),
        "counted": _events(items_of(record, "events")),
        "last": str(status) if status else words("No answer") if was_called else "–",
        "is_last_bad": was_called and not is_good(status),
        "is_off": is_off,
        "is_broken": is_broken,
        "since": _since(request, record["disabled_at"]) if is_off else "",
        "reason": _reason(record) if is_broken else "",
    }


def items_of(record: Record, name: str) -> list[str]:
    items = record[name]
    return _decode_names(items) if isinstance(items, msgspec.Raw) else list(items)


def check_plan(request: AdminRequest) -> None:
    if not request.tenant.plan.has_api:
        raise Forbidden(PLAN_NEEDED)


def _state(request: AdminRequest, record: Record, test: LoggedDelivery | None) -> tuple[str, str]:
    """The kind of badge and its words."""
    if record["disabled_at"]:
        if record["paused"]:
            return "draft", words("Paused")
        return "bad", words("Off since %(since)s", since=_since(request, record["disabled_at"]))
    if not record["last_delivery_at"]:
        if test:
            return (
                ("good", words("Tested"))
                if is_good(test.last_status)
                else ("warn", words("Test failed"))
            )
        return "draft", words("Not called yet")
    if record["failure_count"]:
        return "warn", words("Failing")
    return (
        ("good", words("Healthy"))
        if is_good(record["last_status"])
        else ("warn", words("Retrying"))
    )


def _events(names: Sequence[str]) -> str:
    if ALL_EVENTS in names:
        return words("all")
    has_all = set(OFFERED) <= set(names)
    return words("all %(number)s", number=len(OFFERED)) if has_all else str(len(names))


def _since(request: AdminRequest, moment: str) -> str:
    local = request.local(moment)
    time = f"{local:%H:%M}"
    return time if local.date() == request.now.date() else f"{short_day(local)}, {time}"


def _reason(record: Record) -> str:
    died = record["failure_count"]
    status = record["last_status"]
    first = counted(
        "A delivery died.", "%(count)s deliveries in a row died.", died, count=number(died)
    )
    last = (
        words("The last answer was %(status)s.", status=status)
        if status
        else words("The last attempt got no answer.")
    )
    rest = words("Nothing is sent until you turn it on.")
    return f"{first} {last} {rest}"
