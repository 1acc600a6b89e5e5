"""The public API of webhook subscriptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.engine.events.log import MAX_ITEMS, LoggedEvent
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.values import Date, Number
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest, Page
from masthead.features.webhooks.actions import (
    ENABLED,
    MAX_OVERLAP_HOURS,
    MAX_PER_TENANT,
    check_url,
    fire_test,
    paused,
    replace_secret,
    subscribe,
)
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
from masthead.features.webhooks.sent_headers import masked
from masthead.features.webhooks.services import WebhookServices
from masthead.web.openapi.builders import MOMENT, Moment
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import PAGING, Parameter
from masthead.web.v1.routes import Route, Shape, delete
from masthead.web.v1.schema import Body, View

READ, WRITE = "webhooks:read", "webhooks:write"

SUBSCRIPTION = View(
    "WebhookSubscription",
    webhook_subscriptions,
    (
        "id",
        "name",
        "url",
        "events",
        "filter",
        "headers",
        "per_minute",
        "failure_count",
        "last_delivery_at",
        "disabled_at",
        "created",
    ),
    nullable=frozenset({"last_delivery_at", "disabled_at"}),
    computed={"headers": masked},
    where_set=frozenset({"filter", "headers", "per_minute"}),
)
CREATED = replace(
    SUBSCRIPTION, name="WebhookSubscriptionCreated", fields=(*SUBSCRIPTION.fields, "secret")
)
REQUIRED = frozenset({"name", "url", "events"})
OPTIONAL = ("filter", "headers", "per_minute")
FIELDS = ("name", "url", "events", *OPTIONAL)
CREATE = Body(
    "WebhookSubscriptionCreate",
    webhook_subscriptions,
    FIELDS,
    required=REQUIRED,
    nullable=frozenset(OPTIONAL),
)
UPDATE = Body(
    "WebhookSubscriptionUpdate",
    webhook_subscriptions,
    FIELDS,
    required=REQUIRED,
    nullable=frozenset(OPTIONAL),
    partial=True,
    flags=("disabled",),
)

OVERLAP = Number(
    name="overlap_hours",
    max=MAX_OVERLAP_HOURS,
    min=0,
    help="For so many hours deliveries are signed with the old secret as well. Without it, the old "
    "one stops working at once.",
)
ROTATE = Body(
    "WebhookSecretRotation", webhook_subscriptions, (), inputs=(OVERLAP,), is_optional=True
)

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

_Secret = Annotated[
    str, Meta(description="Signs every delivery. Shown only once.", min_length=64, max_length=64)
]


class WebhookSecret(Struct, frozen=True):
    id: str
    secret: _Secret


class WebhookReplayed(Struct, frozen=True):
    replayed: Annotated[
        int, Meta(description="How many events are sent again, in the background.", ge=0)
    ]


class WebhookTest(Struct, frozen=True):
    webhook_id: str
    event: Literal["test.ping"]
    success: Annotated[bool, Meta(description="Whether the answer was 2xx in time.")]
    status_code: Annotated[int, Meta(description="0 if there was no answer.")]
    duration_ms: int
    error: Annotated[str | None, Meta(description="What went wrong.")]
    delivered_at: Moment


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


async def list_subscriptions(call: Call) -> dict[str, Any]:
    page = await call.records.page(
        call.caller, webhook_subscriptions, ListRequest(per_page=MAX_PER_TENANT)
    )
    items = [SUBSCRIPTION.of(_with_names(item)) for item in page.items]
    return {"items": items, "total": page.total}


async def get_subscription(call: Call) -> dict[str, Any]:
    return SUBSCRIPTION.of(_with_names(await call.get(webhook_subscriptions)))


def _with_names(record: Record) -> Record:
    """Their names can be read, and not their values."""
    return {**record, "headers": record["header_names"]}


@asynccontextmanager
async def checked_url(call: Call) -> AsyncIterator[None]:
    await check_url(call.services.outbound, call.body)
    yield


async def create_subscription(call: Call) -> dict[str, Any]:
    record, secret = await subscribe(call.unit, call.body)
    return CREATED.of(_with_names({**record, "secret": secret}))


async def update_subscription(call: Call) -> Record:
    disabled = call.body.get("disabled")
    stamped: Mapping[str, Any] | None = ENABLED if disabled is False else None
    if disabled:
        # One that does not exist is refused below.
        for found in await call.unit.find(webhook_subscriptions, {"id": call.record_id}, limit=1):
            stamped = paused(found, call.records.clock())
    record = await call.unit.update(
        webhook_subscriptions,
        call.record_id,
        call.body,
        stamped=stamped,
        expected_version=call.expected_version,
    )
    return _with_names(record)


async def delete_subscription(call: Call) -> None:
    await call.unit.delete(
        webhook_subscriptions, call.record_id, expected_version=call.expected_version
    )


async def rotate_secret(call: Call) -> WebhookSecret:
    hours = call.body.get(OVERLAP.name, 0)
    record, secret = await replace_secret(
        call.records, call.unit, call.record_id, hours, expected_version=call.expected_version
    )
    return WebhookSecret(record["id"], secret)


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


async def fire_test_event(call: Call) -> WebhookTest:
    subscription = await call.get(webhook_subscriptions)
    tested = await fire_test(call.records, call.services.outbound, subscription, call.caller)
    sent = tested.sent
    return WebhookTest(
        webhook_id=subscription["id"],
        event="test.ping",
        success=sent.is_success,
        status_code=sent.status,
        duration_ms=sent.duration_ms,
        error=sent.error or None,
        delivered_at=clock.to_text(tested.ended),
    )


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


_ID = "w3h5k7m9p1r3t5v"
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
_TESTED = WebhookTest(_ID, "test.ping", True, 204, 84, None, MOMENT)


def _unwrapped(
    method: str,
    path: str,
    handler: Any,
    scope: str,
    *,
    shape: Shape = Shape.UNWRAPPED,
    **more: Any,
) -> Route:
    """These answers have no `data` wrapper."""
    return Route(method, path, handler, scope, shape, tag="webhooks", **more)


routes = (
    # Before `{id}`: "events" is no id.
    _unwrapped(
        "GET",
        "/webhooks/events",
        poll_events,
        READ,
        example=Events([_POLLED]),
        parameters=(EVENT, SINCE, AFTER),
        summary="Poll the latest events",
    ),
    _unwrapped(
        "GET",
        "/webhooks",
        list_subscriptions,
        READ,
        shape=Shape.LIST,
        view=SUBSCRIPTION,
        summary="List webhook subscriptions",
    ),
    _unwrapped(
        "POST",
        "/webhooks",
        create_subscription,
        WRITE,
        shape=Shape.RECORD,
        status=201,
        view=CREATED,
        body=CREATE,
        prepare=checked_url,
        is_secret=True,
        summary="Subscribe to events",
    ),
    _unwrapped(
        "GET",
        "/webhooks/{id}",
        get_subscription,
        READ,
        shape=Shape.RECORD,
        view=SUBSCRIPTION,
        summary="Check that a subscription exists",
    ),
    Route(
        "PATCH",
        "/webhooks/{id}",
        update_subscription,
        WRITE,
        Shape.DATA,
        view=SUBSCRIPTION,
        body=UPDATE,
        prepare=checked_url,
        summary="Change a subscription, pause it or enable it again",
        tag="webhooks",
    ),
    delete("/webhooks/{id}", delete_subscription, scope=WRITE, summary="Unsubscribe"),
    _unwrapped(
        "GET",
        "/webhooks/{id}/deliveries",
        list_deliveries,
        READ,
        shape=Shape.PAGE,
        view=DELIVERY,
        parameters=(*PAGING, STATE),
        summary="List the deliveries of a subscription, newest first",
    ),
    _unwrapped(
        "GET",
        "/webhooks/{id}/deliveries/{delivery_id}",
        get_delivery,
        READ,
        example=_DELIVERED,
        summary="View a delivery with its attempts",
    ),
    _unwrapped(
        "POST",
        "/webhooks/{id}/rotate-secret",
        rotate_secret,
        WRITE,
        body=ROTATE,
        example=WebhookSecret(_ID, "4f8c1e6a9b2d7053" * 4),
        is_secret=True,
        summary="Replace the signing secret, at once or with an overlap",
    ),
    _unwrapped(
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
    _unwrapped(
        "POST",
        "/webhooks/{id}/test",
        fire_test_event,
        WRITE,
        example=_TESTED,
        calls_out=True,
        summary="Send a signed test.ping",
    ),
)
