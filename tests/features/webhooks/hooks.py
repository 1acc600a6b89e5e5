"""A tenant with a real TLS receiver, an API key and a worker that runs on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import sqlalchemy as sa
from tests.tls import Authority, Received, Receiver
from tests.v1.keys import key_client
from tests.world import MovableClock, TenantWorld, World, open_world

from masthead.base import clock
from masthead.base.config.values import RETRY_POLICIES, RetryPolicy
from masthead.engine.records.collection import Record
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.deliver import DeliveryWorker
from masthead.features.webhooks.delivery_log import (
    ALL,
    DeliveryFilter,
    LoggedAttempt,
    LoggedDelivery,
)
from masthead.features.webhooks.sending import ATTEMPT_SECONDS
from masthead.features.webhooks.tables import webhook_lanes
from masthead.storage.database import EVERY_TENANT

PATH = "/api/v1/webhooks"
A, B = RETRY_POLICIES["a"], RETRY_POLICIES["b"]


@dataclass
class Hooks:
    world: World
    tenant: TenantWorld
    api: httpx.AsyncClient
    receiver: Receiver
    authority: Authority
    attempt_seconds: float = ATTEMPT_SECONDS

    @property
    def clock(self) -> MovableClock:
        return self.world.clock

    async def subscribe(
        self,
        *events: str,
        url: str = "",
        api: httpx.AsyncClient | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        body = {
            **more,
            "name": "Hook",
            "url": url or self.receiver.url(),
            "events": events or ["post.created"],
        }
        made = await (api or self.api).post(PATH, json=body)
        assert made.status_code == 201, made.text
        subscription: dict[str, Any] = made.json()
        return subscription

    def worker(self, policy: RetryPolicy = A) -> DeliveryWorker:
        parts = self.world.parts
        return DeliveryWorker(
            parts.webhooks.deliveries,
            parts.outbound,
            parts.keyring,
            policy,
            now=self.world.clock,
            attempt_seconds=self.attempt_seconds,
        )

    async def deliver(self, policy: RetryPolicy = A) -> int:
        """Makes all attempts that are due now; how many."""
        return await self.worker(policy).run_due()

    async def deliver_to_the_end(self, policy: RetryPolicy) -> list[LoggedAttempt]:
        """Moves the clock from retry to retry of the only delivery until there are no more."""
        await self.deliver(policy)
        while (delivery := await self.delivery()).state == "pending":
            self.clock.moment = clock.from_text(delivery.next_attempt_at)
            await self.deliver(policy)
        return await self.attempts(delivery)

    async def deliveries(self, filter_: DeliveryFilter = ALL) -> list[LoggedDelivery]:
        return await self.world.parts.webhooks.deliveries.log.list(self.tenant.id, filter_)

    async def delivery(self) -> LoggedDelivery:
        (delivery,) = await self.deliveries()
        return delivery

    async def states(self) -> list[str]:
        return [delivery.state for delivery in await self.deliveries()]

    async def attempts(self, delivery: LoggedDelivery) -> list[LoggedAttempt]:
        return await self.world.parts.webhooks.deliveries.log.attempts(self.tenant.id, delivery.id)

    async def subscription(self, webhook_id: str) -> Record:
        (found,) = await self.world.parts.records.find(
            webhook_subscriptions, {"id": webhook_id}, tenant_id=self.tenant.id
        )
        return found


async def open_hooks_world(
    url: str,
    folder: Path,
    authority: Authority,
    clock: MovableClock | None = None,
    **environ: str,
) -> World:
    return await open_world(
        url,
        folder,
        clock,
        **environ,
        MASTHEAD_RATE_LIMITS="off",
        MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8",
        MASTHEAD_OUTBOUND_CA_FILE=str(authority.ca_file),
    )


@asynccontextmanager
async def new_hooks(world: World, authority: Authority) -> AsyncIterator[Hooks]:
    """A new tenant of the world with a receiver of its own; nothing is left to be sent after."""
    tenant = await world.new_tenant()
    async with Receiver(authority.certificate()) as receiver:
        api = await key_client(tenant)
        yield Hooks(world, tenant, api, receiver, authority)
    database = world.parts.database
    async with database.transaction(EVERY_TENANT) as tx:
        await tx.execute(database.compile(sa.delete(webhook_lanes)))


def payload_of(received: Received) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.json.decode(received.body)["payload"]
    return payload
