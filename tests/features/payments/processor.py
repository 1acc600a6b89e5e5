"""A payment processor for tests: makes its events, signs them and calls the receivers."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from dataclasses import dataclass
from typing import Any

import httpx
from tests.world import TenantWorld, World

from masthead.engine.records.collection import Record
from masthead.web.asgi import ASGIApp

SECRET = "whsec_test_secret"
JUNE = 1_718_000_000
"""A second in June 2024."""

_numbers = itertools.count(1)

Event = dict[str, Any]


def event(kind: str, subject: dict[str, Any], created: int = JUNE, **more: Any) -> Event:
    return {
        "id": f"evt_{next(_numbers)}",
        "object": "event",
        "type": kind,
        "created": created,
        "livemode": False,
        "data": {"object": subject},
        **more,
    }


def joined(created: int = JUNE, **more: Any) -> Event:
    session = {
        "id": "cs_1",
        "object": "checkout.session",
        "mode": "subscription",
        "payment_status": "paid",
        "customer": "cus_1",
        "subscription": "sub_1",
        "customer_details": {"email": "reader@example.com", "name": "A Reader"},
        "amount_subtotal": 500,
        "amount_total": 500,
        "currency": "usd",
        "metadata": {},
    }
    return event("checkout.session.completed", session | more, created)


def subscription(status: str, created: int = JUNE, kind: str = "updated", **more: Any) -> Event:
    subject = {
        "id": "sub_1",
        "object": "subscription",
        "customer": "cus_1",
        "status": status,
        "current_period_end": created + 2_592_000,
        "items": {"data": [{"price": {"id": "price_month", "product": "prod_member"}}]},
        "metadata": {},
    }
    return event(f"customer.subscription.{kind}", subject | more, created)


def ended(created: int = JUNE, **more: Any) -> Event:
    return subscription("canceled", created, "deleted", **more)


def failed(created: int = JUNE, **more: Any) -> Event:
    invoice = {
        "id": "in_1",
        "object": "invoice",
        "customer": "cus_1",
        "customer_email": "reader@example.com",
        "subscription": "sub_1",
    }
    return event("invoice.payment_failed", invoice | more, created)


def bought(created: int = JUNE, **more: Any) -> Event:
    session = {
        "id": "cs_2",
        "object": "checkout.session",
        "mode": "payment",
        "payment_status": "paid",
        "payment_intent": "pi_1",
        "customer": None,
        "customer_details": {"email": "buyer@example.com", "name": None},
        "amount_subtotal": 1900,
        "amount_total": 1900,
        "currency": "usd",
        "metadata": {},
    }
    return event("checkout.session.completed", session | more, created)


def refunded(amount: int = 1900, created: int = JUNE, **more: Any) -> Event:
    charge = {
        "id": "ch_1",
        "object": "charge",
        "payment_intent": "pi_1",
        "amount": 1900,
        "amount_refunded": amount,
        "refunded": amount >= 1900,
        "currency": "usd",
    }
    return event("charge.refunded", charge | more, created)


def gift_bought(tier_id: str, created: int = JUNE, **more: Any) -> Event:
    """As the checkout of a gift names it, which this service has opened."""
    metadata = {"gift_tier": tier_id, "gift_months": "3", **more.pop("metadata", {})}
    return bought(created, id="cs_gift", metadata=metadata, **more)


def sign(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def timed(secret: str, body: bytes, at: int) -> str:
    return f"t={at},v1={sign(secret, f'{at}.'.encode() + body)}"


@dataclass
class Processor:
    """Calls one tenant's receiver with events that it signs as the processor does."""

    tenant: TenantWorld
    secret: str = SECRET

    @property
    def world(self) -> World:
        return self.tenant.world

    @property
    def path(self) -> str:
        return f"/api/member-webhook/{self.tenant.slug}"

    async def post(
        self,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        path: str = "",
        host: str = "",
        app: ASGIApp | None = None,
    ) -> httpx.Response:
        """Signed with the processor's own scheme unless headers are given."""
        if headers is None:
            now = int(self.world.clock().timestamp())
            headers = {"stripe-signature": timed(self.secret, body, now)}
        api = self.world.client(host or self.tenant.host, app=app)
        return await api.post(path or self.path, content=body, headers=headers)

    async def send(self, *events: Event, app: ASGIApp | None = None) -> None:
        for each in events:
            answer = await self.post(json.dumps(each).encode(), app=app)
            assert (answer.status_code, answer.json()) == (200, {"received": True}), answer.text

    async def find(self, collection: str, **equals: Any) -> list[Record]:
        return await self.world.parts.records.find(
            self.world.collection(collection), equals, tenant_id=self.tenant.id, limit=100
        )

    async def one(self, collection: str, **equals: Any) -> Record:
        (record,) = await self.find(collection, **equals)
        return record

    async def state(self, email: str = "reader@example.com") -> str:
        """The member's, as `tier/status`; '' without one."""
        found = await self.find("blog_members", email=email)
        return f"{found[0]['tier']}/{found[0]['status']}" if found else ""


async def new_processor(world: World, **settings: Any) -> Processor:
    tenant = await world.new_tenant("shop")
    await tenant.settings(**{"member_payment_webhook_secret": SECRET} | settings)
    return Processor(tenant)
