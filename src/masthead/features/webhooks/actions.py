"""Actions on a subscription beyond plain changes: URL check, test event, enabling again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import Caller, system
from masthead.base.errors import Invalid
from masthead.base.ids import TenantId, new_id
from masthead.engine.events.catalog import KINDS
from masthead.engine.events.names import TEST_PING
from masthead.engine.events.outbox import events
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.write.unit import Unit
from masthead.features.webhooks.attempts import SendResult, attempt_row
from masthead.features.webhooks.collection import (
    DELIVERED,
    DROPPED,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.results import Delivery, QueueKey
from masthead.features.webhooks.sending import send
from masthead.features.webhooks.sent_headers import headers_of
from masthead.features.webhooks.signing import new_secret
from masthead.features.webhooks.tables import webhook_attempts
from masthead.outside.outbound.client import OutboundClient
from masthead.storage.database import scope_of

MAX_PER_TENANT = 100
MAX_OVERLAP_HOURS = 168
ENABLED = {"disabled_at": "", "failure_count": 0, "paused": False}
"""Set on a subscription that is enabled again. It gets events from now on: pending deliveries were
dropped when it was disabled."""


def paused(subscription: Record, now: datetime) -> Mapping[str, Any]:
    """Set on a subscription that a person pauses. One that is disabled already stays as it is, with
    the reason."""
    if subscription["disabled_at"]:
        return {}
    return {"disabled_at": clock.to_text(now), "paused": True}


class Tested(msgspec.Struct, frozen=True):
    """The result of a test event, and the delivery that it is logged as."""

    delivery_id: str
    sent: SendResult
    ended: datetime


async def check_url(client: OutboundClient, given: Mapping[str, Any]) -> None:
    """Resolves a host name, so it runs before a transaction opens: called by the engine for changes
    of a single record, else by the caller that opens the unit."""
    try:
        url = webhook_subscriptions.by_name["url"].parse(given["url"])
    except (KeyError, FieldError):
        return  # the engine reports it, together with the other fields
    problem = await client.check_url(url)
    if problem is not None:
        raise Invalid({"url": problem})


async def subscribe(unit: Unit, values: Mapping[str, Any]) -> tuple[Record, str]:
    """The new subscription and its secret, which can't be read afterwards."""
    found = await unit.find(webhook_subscriptions, {}, limit=MAX_PER_TENANT)
    if len(found) >= MAX_PER_TENANT:
        raise Invalid({}, f"A site has at most {MAX_PER_TENANT} webhooks. Delete one first.")
    secret = new_secret()
    return await unit.create(webhook_subscriptions, values, stamped={"secret": secret}), secret


async def fire_test(
    records: Records,
    client: OutboundClient,
    subscription: Record,
    caller: Caller | None = None,
) -> Tested:
    """Sends a `test.ping` now. It is logged like any event, but never retried and never counted.

    The call is made between two transactions, not inside one. Without a `caller` the service itself
    sends it.
    """
    tenant_id = TenantId(subscription["tenant_id"])
    async with records.unit(caller or system(tenant_id)) as unit:
        # As the caller, so that a read-only site refuses it before anything is sent.
        logged = await unit.create(
            webhook_deliveries,
            {},
            stamped={"webhook_id": subscription["id"], "event": TEST_PING, "state": DROPPED},
        )
        written = unit.events.write(
            TEST_PING,
            KINDS[TEST_PING].payload(subscription),
            collection=webhook_subscriptions.name,
            record_id=subscription["id"],
        )
        # It is sent below, only to this subscription.
        unit.events.written.clear()
    delivery = Delivery(
        QueueKey(tenant_id, subscription["id"]),
        records.clock(),
        logged["id"],
        written.id,
        TEST_PING,
        written.created,
        await _read_payload(records, tenant_id, written.id),
        attempts=0,
    )
    signed_with = _secrets_of(records, subscription)
    headers = headers_of(records.reveal(webhook_subscriptions, subscription, "headers"))
    url = subscription["url"]
    sent = await send(client, delivery, url, signed_with, more_headers=headers, now=records.clock())
    ended = records.clock()
    await _log_test(records, delivery, sent, ended)
    return Tested(delivery.id, sent, ended)


def _secrets_of(records: Records, subscription: Record) -> list[str]:
    secrets = [records.reveal(webhook_subscriptions, subscription, "secret")]
    if subscription["previous_secret_until"] > clock.to_text(records.clock()):
        secrets.append(records.reveal(webhook_subscriptions, subscription, "previous_secret"))
    return secrets


async def replace_secret(
    records: Records,
    unit: Unit,
    webhook_id: str,
    overlap_hours: int = 0,
    *,
    expected_version: int | None = None,
) -> tuple[Record, str]:
    """The subscription and its new secret. With an overlap, deliveries are signed with the old one
    as well until it ends; a rotation before then ends the overlap of the earlier one."""
    secret, previous, until = new_secret(), "", ""
    # One that does not exist is refused below.
    for found in await unit.find(webhook_subscriptions, {"id": webhook_id}, limit=1):
        if overlap_hours:
            previous = records.reveal(webhook_subscriptions, found, "secret")
            until = clock.to_text(records.clock() + timedelta(hours=overlap_hours))
    stamped = {
        "secret": secret,
        "previous_secret": previous,
        "previous_secret_until": until,
    }
    record = await unit.update(
        webhook_subscriptions, webhook_id, {}, stamped=stamped, expected_version=expected_version
    )
    return record, secret


async def _read_payload(records: Records, tenant_id: TenantId, event_id: str) -> str:
    """As stored, because the log shows these bytes and they are the signed ones."""
    e = events.c
    query = sa.select(e.payload).where(e.tenant_id == tenant_id, e.id == event_id)
    statement = records.database.compile(query)
    [(payload,)] = await records.database.fetch(scope_of(tenant_id), *statement({}))
    return str(payload)


async def _log_test(
    records: Records, delivery: Delivery, sent: SendResult, ended: datetime
) -> None:
    tenant_id = delivery.queue_key.tenant_id
    async with records.unit(system(tenant_id)) as unit:
        await unit.update(
            webhook_deliveries,
            delivery.id,
            {},
            stamped={
                "event_id": delivery.event_id,
                # A failed test is not dead: it can't be retried.
                "state": DELIVERED if sent.is_success else DROPPED,
                "attempts": 1,
                "last_status": sent.status or None,
            },
        )
        await unit.execute(
            records.database.compile(sa.insert(webhook_attempts)),
            attempt_row(tenant_id, new_id(), delivery.id, 1, sent=sent, at=ended),
        )
