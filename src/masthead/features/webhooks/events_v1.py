"""The public API of events: they are polled, sent, looked at and sent again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from masthead.base.errors import Invalid, NotFound, Problem
from masthead.engine.events.log import MAX_ITEMS, LoggedEvent
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.values import Date
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.features.webhooks.collection import (
    DEAD,
    DELIVERED,
    DROPPED,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.replays import (
    LONGEST,
    MOST,
    Replay,
    check_span,
    span_of,
    start_replay,
)
from masthead.features.webhooks.retention import EVENT_RETENTION
from masthead.features.webhooks.services import WebhookServices
from masthead.features.webhooks.v1 import READ, WRITE, unwrapped
from masthead.web.openapi.builders import MOMENT, Moment
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import PAGING, Parameter
from masthead.web.v1.routes import Shape
from masthead.web.v1.schema import Body, View

FROM = Date(
    name="from",
    required=True,
    help=f"Events from this moment on. Those of the last {EVENT_RETENTION.days} days are stored.",
)
TO = Date(
    name="to",
    required=True,
    help=f"Events before this moment, at most {LONGEST.days} days after the first one. A moment in "
    "the future means now.",
)
EVENTS = TextList(
    name="events",
    values=EVENT_NAMES,
    help="Only these, of those that the subscription gets. Empty for all of them.",
)
REPLAY = Body(
    "WebhookReplay",
    webhook_subscriptions,
    (),
    required=frozenset({"from", "to"}),
    inputs=(FROM, TO, EVENTS),
    help=f"At most {MOST:,} events.",
)

DELIVERY = View(
    "WebhookDelivery",
    webhook_deliveries,
    (
        *("id", "event", "event_id", "state", "attempts"),
        *("last_status", "next_attempt_at", "created"),
    ),
    nullable=frozenset({"next_attempt_at"}),
)
STATE = Parameter(
    "state",
    "Only deliveries in this state.",
    "choice",
    choices=(PENDING, DELIVERED, DEAD, DROPPED),
)


class WebhookReplayed(Struct, frozen=True):
    replayed: Annotated[
        int, Meta(description="How many events are sent again, in the background.", ge=0)
    ]


class WebhookAttempt(Struct, frozen=True):
    number: int
    status: Annotated[int, Meta(description="0 if there was no answer.")]
    duration_ms: int
    error: Annotated[str | None, Meta(description="What went wrong.")]
    created: Moment


class WebhookDeliveryDetails(Struct, frozen=True):
    id: Annotated[str, Meta(description="The same as in `X-Service-Delivery`.")]
    event: str
    event_id: str
    state: Literal["pending", "delivered", "dead", "dropped"]
    last_status: Annotated[int | None, Meta(description="Null without an answer.")]
    next_attempt_at: Annotated[Moment | None, Meta(description="Null unless it is pending.")]
    created: Moment
    attempts: Annotated[list[WebhookAttempt], Meta(description="Oldest first, of 30 days.")]


class PolledEvent(Struct, frozen=True):
    id: Annotated[str, Meta(description="The same in every poll.")]
    event: str
    created: Annotated[int, Meta(description="Unix seconds.")]
    data: Annotated[
        Raw, Meta(description="The event's payload.", extra_json_schema={"type": "object"})
    ]


class Events(Struct, frozen=True):
    items: Annotated[list[PolledEvent], Meta(description="At most 100.", max_length=MAX_ITEMS)]


EVENT = Parameter("event", "Only events of this name.", "choice", choices=EVENT_NAMES)
SINCE = Parameter(
    "since",
    "Only events created after this moment. A whole second, such as an item's `created`, "
    "includes the events of that second: skip the ids that you already have, or continue with "
    "`after`.",
    "moment",
    ignored_with="after",
)
AFTER = Parameter(
    "after",
    "Only events that follow the one with this id, oldest first: repeat with the last id of "
    "each answer, and you miss nothing.",
    maximum=100,
)

UNKNOWN_EVENT = Problem(
    "validation_unknown_event",
    f"There is no such event, or it was deleted: events are kept for {EVENT_RETENTION.days} days. "
    "Start again with `since`, or without both for the newest.",
)


@asynccontextmanager
async def counted_events(call: Call) -> AsyncIterator[tuple[Replay, str]]:
    """They are counted before the transaction: all other changes of the site wait for that one."""
    since, until = call.body[FROM.name], call.body[TO.name]
    check_span(since, until)
    subscription = await call.get(webhook_subscriptions)
    names = call.body.get(EVENTS.name, ())
    span = span_of(subscription, since, until, names, now=call.records.clock())
    replays = _services(call).replays
    counted = await replays.prepare(call.tenant.id, subscription["id"], span)
    yield counted, subscription["name"]


async def replay_events(call: Call) -> WebhookReplayed:
    replay, name = call.prepared
    await start_replay(call.unit, replay, name)
    return WebhookReplayed(replay.total)


async def list_deliveries(call: Call) -> Page:
    await call.get(webhook_subscriptions)
    conditions = [equals("webhook_id", call.record_id)]
    if call.query["state"]:
        conditions.append(equals("state", call.query["state"]))
    return await call.page(webhook_deliveries, *conditions)


async def get_delivery(call: Call) -> WebhookDeliveryDetails:
    await call.get(webhook_subscriptions)
    log, delivery_id = _services(call).deliveries.log, call.request.path_parameters["delivery_id"]
    # The attempts first: the state shown is then never older than the last attempt.
    attempts = await log.attempts(call.tenant.id, delivery_id)
    found = await log.get(call.tenant.id, delivery_id)
    if found is None or found.webhook_id != call.record_id:
        raise NotFound("There is no such delivery of this subscription.")
    return WebhookDeliveryDetails(
        found.id,
        found.event,
        found.event_id,
        found.state,  # type: ignore[arg-type]
        found.last_status,
        found.next_attempt_at or None,
        found.created,
        [
            WebhookAttempt(
                each.number, each.status, each.duration_ms, each.error or None, each.created
            )
            for each in attempts
        ],
    )


def _services(call: Call) -> WebhookServices:
    return call.services.group(WebhookServices)


async def poll_events(call: Call) -> Events:
    log, name = call.services.event_log, call.query["event"]
    if call.query["after"] is not None:
        found = await log.after(call.tenant.id, call.query["after"], name=name)
        if found is None:
            raise Invalid({"after": UNKNOWN_EVENT})
    else:
        found = await log.newest(call.tenant.id, name=name, since=call.query["since"])
    return Events([_item(event) for event in found])


def _item(event: LoggedEvent) -> PolledEvent:
    return PolledEvent(event.id, event.name, event.created_seconds, Raw(event.payload.encode()))


_POLLED = PolledEvent(
    "e2g4i6k8m0o2q4s",
    "post.published",
    1_794_648_600,
    Raw(b'{"post_id":"k3v9q0x7m2c8b1d","slug":"the-lighthouse"}'),
)
_DELIVERED = WebhookDeliveryDetails(
    "d1f3h5j7l9n1p3r",
    "post.published",
    "e2g4i6k8m0o2q4s",
    "delivered",
    204,
    None,
    MOMENT,
    [WebhookAttempt(1, 204, 84, None, MOMENT)],
)
routes = (
    # Before `{id}`: "events" is no id.
    unwrapped(
        "GET",
        "/webhooks/events",
        poll_events,
        READ,
        example=Events([_POLLED]),
        parameters=(EVENT, SINCE, AFTER),
        summary="Poll the latest events",
    ),
    unwrapped(
        "GET",
        "/webhooks/{id}/deliveries",
        list_deliveries,
        READ,
        shape=Shape.PAGE,
        view=DELIVERY,
        parameters=(*PAGING, STATE),
        summary="List the deliveries of a subscription, newest first",
    ),
    unwrapped(
        "GET",
        "/webhooks/{id}/deliveries/{delivery_id}",
        get_delivery,
        READ,
        example=_DELIVERED,
        summary="View a delivery with its attempts",
    ),
    unwrapped(
        "POST",
        "/webhooks/{id}/replay",
        replay_events,
        WRITE,
        status=202,
        body=REPLAY,
        example=WebhookReplayed(12),
        prepare=counted_events,
        may_conflict=True,
        summary="Send the events of a span of time again",
    ),
)
