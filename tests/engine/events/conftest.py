from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from tests.databases import fresh_url
from tests.engine.events.year import live_a_year
from tests.tls import Authority, Received, Receiver
from tests.world import RunningClock, open_world

from masthead.base.caller import system
from masthead.engine.events.names import EVENT_NAMES
from masthead.features.webhooks.actions import fire_test
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.signing import new_secret
from masthead.service.background import delivery_worker


@dataclass(frozen=True)
class Post:
    """Everything that a subscriber to all events got in a year, and the secret to check it with."""

    secret: str
    events: list[str]
    """The names of the events, in order."""
    received: list[Received]


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def post(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Post]:
    folder = tmp_path_factory.mktemp("post")
    authority = Authority(folder)
    world = await open_world(
        fresh_url(request.param, folder),
        folder,
        RunningClock(),
        MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8",
        MASTHEAD_OUTBOUND_CA_FILE=str(authority.ca_file),
    )
    tenant, secret = await world.new_tenant(), new_secret()
    async with Receiver(authority.certificate()) as receiver:
        records = world.parts.records
        await records.create(
            system(tenant.id),
            webhook_subscriptions,
            {"name": "All", "url": receiver.url(), "events": list(EVENT_NAMES)},
            stamped={"secret": secret},
        )
        await live_a_year(tenant)
        await delivery_worker(world.parts).run_due()
        (subscription,) = await records.find(
            webhook_subscriptions, {"name": "All"}, tenant_id=tenant.id
        )
        await fire_test(records, world.parts.outbound, subscription)
        yield Post(secret, await tenant.event_names(), receiver.requests)
    await world.parts.close()
