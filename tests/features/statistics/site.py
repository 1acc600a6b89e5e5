"""A site with readers, for tests of its numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.faces.reader.pages.home import HOME
from masthead.features.statistics.storing import POST, View, ViewStore
from masthead.web.request import Viewed

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1"
LAPTOP = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ROBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def reader(tenant: TenantWorld, address: str = "", browser: str = LAPTOP) -> httpx.AsyncClient:
    """A reader's browser; each has an address of its own by default."""
    client = tenant.world.client(tenant.host, address=address)
    client.headers["user-agent"] = browser
    return client


async def stats(tenant: TenantWorld, first: str = "", last: str = "", **query: str) -> Any:
    """The answer of v1 for the days; for today by default."""
    await tenant.world.parts.views.flush()
    first = first or tenant.world.clock().date().isoformat()
    api = await key_client(tenant, "stats:read")
    answer = await api.get("/api/v1/stats", params={"from": first, "to": last or first, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def views(tenant: TenantWorld) -> tuple[int, int]:
    """Views and readers of today."""
    found = await stats(tenant)
    return found["views"], found["readers"]


async def seed_views(tenant: TenantWorld, post_ids: Sequence[str], days: int = 30) -> None:
    """Views of the days until today, as if they had been counted then."""
    draw = random.Random(38)
    now = tenant.world.clock()
    for back in reversed(range(days)):
        then = now - timedelta(days=back)
        day = then.date().isoformat()
        readers = [(f"2001:db8::{number:x}", b"Firefox") for number in range(draw.randint(3, 30))]
        views = [
            View(
                tenant.id,
                day,
                Viewed(POST, draw.choice(post_ids)) if draw.random() < 0.7 else HOME,
                draw.choice(("direct", "direct", "news.example", "spring letter")),
                reader,
                draw.randint(1, 3),
            )
            for reader in readers
        ]
        await ViewStore(tenant.world.parts.database, partial(_at, then)).add(views)


def _at(moment: datetime) -> datetime:
    return moment
