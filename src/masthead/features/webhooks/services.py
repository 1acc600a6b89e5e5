"""The services of webhooks for the faces and the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.features.webhooks.replays import Replays
from masthead.features.webhooks.retries import Retries
from masthead.storage.database import Database


class WebhookServices(msgspec.Struct, frozen=True):
    deliveries: DeliveryQueue
    retries: Retries
    replays: Replays
    queued: asyncio.Event
    """Set by this process's own changes, so that its worker need not wait for the next poll."""


def build_webhooks(
    database: Database, tables: Mapping[str, sa.Table], now: clock.Clock
) -> WebhookServices:
    deliveries = DeliveryQueue(database, tables)
    return WebhookServices(
        deliveries,
        Retries(database, deliveries, now),
        Replays(database, tables, now),
        asyncio.Event(),
    )
