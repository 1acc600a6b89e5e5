"""The public API of webhook subscriptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.errors import Invalid, Problem
from masthead.engine.events.log import LoggedEvent
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.features.webhooks.actions import (
    ENABLED,
    MAX_PER_TENANT,
    check_url,
    fire_test,
    paused,
    subscribe,
)
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.retention import EVENT_RETENTION
from masthead.features.webhooks.signing import new_secret
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
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
        "failure_count",
        "last_delivery_at",
        "disabled_at",
        "created",
    ),
    nullable=frozenset({"last_delivery_at", "disabled_at"}),
)
FIELDS = ("name", "url", "events")
CREATE = Body(
    "WebhookSubscriptionCreate", webhook_subscriptions, FIELDS, required=frozenset(FIELDS)
)
UPDATE = Body(
    "WebhookSubscriptionUpdate",
    webhook_subscriptions,
    FIELDS,
    required=frozenset(FIELDS),
    partial=True,
    flags=("disabled",),
)

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
    return {"items": [SUBSCRIPTION.of(item) for item in page.items], "total": page.total}


async def get_subscription(call: Call) -> dict[str, Any]:
    return SUBSCRIPTION.of(await call.get(webhook_subscriptions))


@asynccontextmanager
async def checked_url(call: Call) -> AsyncIterator[None]:
    await check_url(call.services.outbound, call.body)
    yield


async def create_subscription(call: Call) -> dict[str, Any]:
    record, secret = await subscribe(call.unit, call.body)
    return {**SUBSCRIPTION.of(record), "secret": secret}


async def update_subscription(call: Call) -> Record:
    disabled = call.body.get("disabled")
    stamped: Mapping[str, Any] | None = ENABLED if disabled is False else None
    if disabled:
        # One that does not exist is refused below.
        for found in await call.unit.find(webhook_subscriptions, {"id": call.record_id}, limit=1):
            stamped = paused(found, call.records.clock())
    return await call.unit.update(
        webhook_subscriptions,
        call.record_id,
        call.body,
        stamped=stamped,
        expected_version=call.expected_version,
    )


async def delete_subscription(call: Call) -> None:
    await call.unit.delete(
        webhook_subscriptions, call.record_id, expected_version=call.expected_version
    )


async def rotate_secret(call: Call) -> dict[str, str]:
    secret = new_secret()
    record = await call.unit.update(
        webhook_subscriptions,
        call.record_id,
        {},
        stamped={"secret": secret},
        expected_version=call.expected_version,
    )
    return {"id": record["id"], "secret": secret}


async def fire_test_event(call: Call) -> dict[str, Any]:
    subscription = await call.get(webhook_subscriptions)
    tested = await fire_test(call.records, call.services.outbound, subscription, call.caller)
    sent = tested.sent
    return {
        "webhook_id": subscription["id"],
        "event": "test.ping",
        "success": sent.is_success,
        "status_code": sent.status,
        "duration_ms": sent.duration_ms,
        "error": sent.error or None,
        "delivered_at": clock.to_text(tested.ended),
    }


async def poll_events(call: Call) -> dict[str, Any]:
    log, name = call.services.event_log, call.query["event"]
    if call.query["after"] is not None:
        found = await log.after(call.tenant.id, call.query["after"], name=name)
        if found is None:
            raise Invalid({"after": UNKNOWN_EVENT})
    else:
        found = await log.newest(call.tenant.id, name=name, since=call.query["since"])
    return {"items": [_item(event) for event in found]}


def _item(event: LoggedEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "event": event.name,
        "created": event.created_seconds,
        "data": msgspec.Raw(event.payload.encode()),
    }


def _unwrapped(method: str, path: str, handler: Any, scope: str, **more: Any) -> Route:
    """These answers have no `data` wrapper."""
    return Route(method, path, handler, scope, Shape.UNWRAPPED, tag="webhooks", **more)


routes = (
    # Before `{id}`: "events" is no id.
    _unwrapped(
        "GET",
        "/webhooks/events",
        poll_events,
        READ,
        parameters=(EVENT, SINCE, AFTER),
        summary="Poll the latest events",
    ),
    _unwrapped(
        "GET",
        "/webhooks",
        list_subscriptions,
        READ,
        view=SUBSCRIPTION,
        summary="List webhook subscriptions",
    ),
    _unwrapped(
        "POST",
        "/webhooks",
        create_subscription,
        WRITE,
        status=201,
        view=SUBSCRIPTION,
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
        "POST",
        "/webhooks/{id}/rotate-secret",
        rotate_secret,
        WRITE,
        is_secret=True,
        summary="Replace the signing secret at once",
    ),
    _unwrapped(
        "POST",
        "/webhooks/{id}/test",
        fire_test_event,
        WRITE,
        calls_out=True,
        summary="Send a signed test.ping",
    ),
)
