"""The log of deliveries: filters in the address, pages by cursor, states in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

import msgspec

from masthead.base import ids
from masthead.base.languages.words import words
from masthead.engine.events.names import EVENT_NAMES, TEST_PING
from masthead.faces.admin.environment import moment
from masthead.faces.admin.lists import PER_PAGE, Filters, Pager, Pick, cursor_of
from masthead.faces.admin.pages.webhooks.subscriptions import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.collection import DEAD, DELIVERED, DROPPED, PENDING
from masthead.features.webhooks.delivery_log import (
    Cursor,
    DeliveryFilter,
    LoggedAttempt,
    LoggedDelivery,
)

DELIVERIES = f"{ADDRESS}/deliveries"
STATES = {
    PENDING: words("Waiting"),
    DELIVERED: words("Delivered"),
    DEAD: words("Dead"),
    DROPPED: words("Dropped"),
}
BADGES = {PENDING: "info", DELIVERED: "good", DEAD: "bad", DROPPED: "draft"}
TIMES = {
    "1h": words("Last hour"),
    "24h": words("Last 24 hours"),
    "7d": words("Last 7 days"),
    "30d": words("Last 30 days"),
}
_LENGTHS = {
    "1h": timedelta(hours=1),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}


class DeliveryFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    picks = (
        Pick("state", words("State"), words("Any state"), STATES),
        Pick(
            "event",
            words("Event"),
            words("Any event"),
            dict(zip(EVENT_NAMES, EVENT_NAMES, strict=True)),
        ),
        Pick("time", words("Time"), words("Any time"), TIMES),
    )

    state: str = ""
    event: str = ""
    webhook: str = ""
    time: str = ""

    @classmethod
    def _is_known(cls, name: str, text: str) -> bool:
        if name == "webhook":
            return ids.is_id(text)
        # By name: the decorator has replaced the class that a bare super() refers to.
        return super()._is_known(name, text)

    def condition(self, now: datetime) -> DeliveryFilter:
        return DeliveryFilter(
            state=self.state,
            webhook_id=self.webhook,
            event=self.event,
            since=now - _LENGTHS[self.time] if self.time else None,
        )

    @property
    def may_be_dead(self) -> bool:
        return self.state in ("", DEAD)


class DeliveryList(msgspec.Struct, frozen=True):
    rows: list[LoggedDelivery]
    attempts: Mapping[str, LoggedAttempt]
    """The last one of each delivery."""
    pager: Pager
    searched_to: str = ""
    """In words, where the search has ended before the page was full."""


async def read_deliveries(request: AdminRequest, filters: DeliveryFilters) -> DeliveryList | None:
    """None where the first page is meant: there is less than a page before the cursor."""
    log, condition = (
        request.services.webhooks.deliveries.log,
        filters.condition(request.records.clock()),
    )
    # An event together with another filter is searched for, only from new to old.
    is_searched = bool(filters.event and (filters.state or filters.webhook))
    before = None if is_searched else cursor_of(request.query.get("before", ""))
    after = cursor_of(request.query.get("after", ""))
    if before:
        page = await log.page_before(request.tenant_id, condition, PER_PAGE, before)
        if not page.has_more:
            return None
    else:
        page = await log.page(request.tenant_id, condition, PER_PAGE, after)
    items = page.items
    ends = _mark(items[-1]) if items and page.has_more else _position(page.scanned_to)
    if before:
        ends = _mark(items[-1])
    older = filters.url(after=ends) if ends else ""
    newer = ""
    if before or after:
        newer = filters.url() if is_searched or not items else filters.url(before=_mark(items[0]))
    attempts = await log.last_attempts(request.tenant_id, [each.id for each in items])
    searched_to = moment_of(request, page.scanned_to[0]) if page.scanned_to else ""
    return DeliveryList(items, attempts, Pager(0, 0, -1, newer, older), searched_to)


def _mark(delivery: LoggedDelivery) -> str:
    return f"{delivery.created}~{delivery.id}"


def _position(cursor: Cursor | None) -> str:
    return "~".join(cursor) if cursor else ""


def state_of(delivery: LoggedDelivery) -> tuple[str, str]:
    """The kind of badge and its words."""
    if delivery.event == TEST_PING and delivery.state == DROPPED:
        return "bad", words("Test failed")
    if delivery.state == PENDING and delivery.attempts:
        return "warn", words("Retrying")
    return BADGES[delivery.state], STATES[delivery.state]


def answer_of(delivery: LoggedDelivery) -> str:
    if delivery.last_status:
        return str(delivery.last_status)
    return words("No answer") if delivery.attempts else "–"


def moment_of(request: AdminRequest, text: str) -> str:
    return moment(request.local(text), request.now)


def names_of(records: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {each["id"]: each["name"] for each in records}
