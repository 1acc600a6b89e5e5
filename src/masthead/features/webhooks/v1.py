"""The public API of webhook subscriptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from masthead.base import clock
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.values import Number
from masthead.engine.records.read.page import ListRequest
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
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.sent_headers import masked
from masthead.web.openapi.builders import MOMENT, Moment
from masthead.web.v1.call import Call
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

_Secret = Annotated[
    str, Meta(description="Signs every delivery. Shown only once.", min_length=64, max_length=64)
]


class WebhookSecret(Struct, frozen=True):
    id: str
    secret: _Secret


class WebhookTest(Struct, frozen=True):
    webhook_id: str
    event: Literal["test.ping"]
    success: Annotated[bool, Meta(description="Whether the answer was 2xx in time.")]
    status_code: Annotated[int, Meta(description="0 if there was no answer.")]
    duration_ms: int
    error: Annotated[str | None, Meta(description="What went wrong.")]
    delivered_at: Moment


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


_ID = "w3h5k7m9p1r3t5v"
_TESTED = WebhookTest(_ID, "test.ping", True, 204, 84, None, MOMENT)


def unwrapped(
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
    unwrapped(
        "GET",
        "/webhooks",
        list_subscriptions,
        READ,
        shape=Shape.LIST,
        view=SUBSCRIPTION,
        summary="List webhook subscriptions",
    ),
    unwrapped(
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
    unwrapped(
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
    unwrapped(
        "POST",
        "/webhooks/{id}/rotate-secret",
        rotate_secret,
        WRITE,
        body=ROTATE,
        example=WebhookSecret(_ID, "4f8c1e6a9b2d7053" * 4),
        is_secret=True,
        summary="Replace the signing secret, at once or with an overlap",
    ),
    unwrapped(
        "POST",
        "/webhooks/{id}/test",
        fire_test_event,
        WRITE,
        example=_TESTED,
        calls_out=True,
        summary="Send a signed test.ping",
    ),
)
