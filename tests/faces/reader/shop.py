"""A site that sells a tier, whose payment processor is a server of the test."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
import pytest
from tests.features.payments.processor import SECRET
from tests.features.payments.processor_api import KEY, ProcessorApi
from tests.tls import Receiver
from tests.world import Account, TenantWorld, World

from masthead.engine.records.collection import Record
from masthead.features.payments.checkout import Checkouts
from masthead.features.payments.coupons import Coupons
from masthead.features.payments.processor import Processor as ProcessorClient
from masthead.outside.outbound.streams import OutboundStreams
from masthead.service.app import http_app

TIERS, ACCOUNT = "/member/tiers", "/member/account"
OWN = {"sec-fetch-site": "same-origin"}
TIER = {"name": "Supporter", "price": 400, "currency": "gbp", "payment_price_id": "price_month"}


@dataclass
class Shop:
    """A site with a payment key, whose processor is a server of the test."""

    tenant: TenantWorld
    api: ProcessorApi
    app: Any
    tier: Record

    def reader(self, account: Account | None = None) -> httpx.AsyncClient:
        token = account.token if account else ""
        return self.tenant.world.client(self.tenant.host, token=token, app=self.app)

    async def post(self, account: Account, path: str, **form: str) -> httpx.Response:
        """From a form that the page of tiers shows the member."""
        reader = self.reader(account)
        found = re.search(r'name="form_token" value="(\w+)"', (await reader.get(TIERS)).text)
        token = {"form_token": found[1]} if found else {}
        return await reader.post(path, data={**token, **form}, headers=OWN)

    async def upgrade(self, account: Account, tier: str = "") -> httpx.Response:
        return await self.post(account, "/member/upgrade", tier=tier or self.tier["id"])

    async def billing(self, account: Account) -> httpx.Response:
        return await self.post(account, "/member/billing")


def shop_app(
    world: World,
    api_url: str,
    *,
    seconds: float = 10.0,
    streams: OutboundStreams | None = None,
) -> Any:
    """The same service with another processor."""
    processor = ProcessorClient(streams or world.parts.streams, api_url, timeout_seconds=seconds)
    coupons = Coupons(processor, world.parts.records)
    checkouts = Checkouts(processor, world.parts.windows, coupons)
    payments = msgspec.structs.replace(world.parts.payments, checkouts=checkouts)
    return http_app(msgspec.structs.replace(world.parts, payments=payments))


@pytest.fixture
async def api() -> AsyncIterator[ProcessorApi]:
    async with Receiver(None) as receiver:
        yield ProcessorApi(receiver)


@pytest.fixture
async def shop(app: World, tenant: TenantWorld, api: ProcessorApi) -> Shop:
    await tenant.settings(member_payment_secret_key=KEY, member_payment_webhook_secret=SECRET)
    return Shop(tenant, api, shop_app(app, api.url), await tenant.create("tiers", TIER))
