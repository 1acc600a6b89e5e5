"""What can be done with a subscription beyond plain changes: checking, testing, enabling again."""

from __future__ import annotations

from datetime import datetime

from masthead.caller import Caller, system
from masthead.errors import Invalid
from masthead.events.names import TEST_PING
from masthead.ids import TenantId, new_id
from masthead.outbound.client import OutboundClient
from masthead.records.collection import Event, Record
from masthead.records.engine import Records
from masthead.webhooks.collection import DEAD, DELIVERED, webhook_deliveries, webhook_subscriptions
from masthead.webhooks.deliver import Sent, payload_text, send
from masthead.webhooks.queue import Delivery, Lane

MAX_PER_TENANT = 100


async def check_url(client: OutboundClient, url: str) -> None:
    problem = await client.check_url(url)
    if problem is not None:
        raise Invalid({"url": problem})


async def re_enable(records: Records, caller: Caller, webhook_id: str) -> None:
    """Starts afresh, with events from now on: what was pending was dropped with the disabling."""
    await records.update(
        caller,
        webhook_subscriptions,
        webhook_id,
        {},
        stamped={"disabled_at": "", "failure_count": 0},
    )


async def fire_test(
    records: Records, client: OutboundClient, subscription: Record
) -> tuple[Sent, datetime]:
    """Sends a `test.ping` now. It is logged like any event, but never retried and never counted.

    The call is made between two transactions, not inside one.
    """
    tenant_id = TenantId(subscription["tenant_id"])
    payload = {
        "webhook_id": subscription["id"],
        "message": "This is a test of your webhook.",
        "tenant_id": tenant_id,
    }
    async with records.unit(system(tenant_id)) as unit:
        written = await unit.write_event(
            Event(TEST_PING, payload),
            collection=webhook_subscriptions.name,
            record_id=subscription["id"],
        )
        # It goes to this subscription alone, and by hand.
        unit.written.clear()
    delivery = Delivery(
        Lane(tenant_id, subscription["id"]),
        new_id(),
        TEST_PING,
        written.id,
        written.created,
        payload_text(payload),
        0,
    )
    secret = records.reveal(webhook_subscriptions, subscription, "secret")
    sent = await send(client, delivery, subscription["url"], secret, records.clock())
    ended = records.clock()
    await records.create(
        system(tenant_id),
        webhook_deliveries,
        {"id": delivery.id},
        stamped={
            "webhook_id": subscription["id"],
            "event": TEST_PING,
            "event_id": written.id,
            "state": DELIVERED if sent.is_success else DEAD,
            "attempts": 1,
            "last_status": sent.status or None,
        },
    )
    return sent, ended
