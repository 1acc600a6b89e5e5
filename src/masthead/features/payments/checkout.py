"""Sends a member to the payment: to a checkout or portal at the processor, or to a payment page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.features.payments.payloads import MEMBER
from masthead.features.payments.processor import Processor, ProcessorError
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows

REPEAT_SECONDS = 300
"""How long the same request leads to the same checkout. A checkout that was paid or has expired
can't be used again, so not for long."""
CALLS = Allowance(
    "checkouts",
    Limits(per_minute=10, per_hour=60),
    "You have tried this too often. Wait a minute and try again.",
)
"""Calls to the processor for one member."""


@dataclass(frozen=True, slots=True)
class Buyer:
    """A signed-in member, on a site that may have a key for the processor."""

    tenant_id: TenantId
    tenant_slug: str
    member: Record
    key: str = field(repr=False)
    """The site's key for the processor; '' without one."""
    tiers_url: str
    account_url: str
    """Where the processor sends the member afterwards."""
    paid_url: str


def is_on_sale(tier: Record, *, has_key: bool) -> bool:
    """Whether there is any way to pay for it."""
    return bool(tier["payment_url"] or (has_key and tier["payment_price_id"]))


class Checkouts:
    def __init__(self, processor: Processor, windows: Windows) -> None:
        self._processor = processor
        self._windows = windows

    async def checkout_url(self, buyer: Buyer, tier: Record) -> str:
        """Where the member pays for a tier that `is_on_sale`; raises ProcessorError."""
        if not buyer.key or not tier["payment_price_id"]:
            return _payment_page(buyer, tier["payment_url"])
        await self._admit(buyer)
        customer = buyer.member["payment_customer_id"]
        if customer:
            try:
                return await self._open_checkout(buyer, tier, {"customer": customer})
            except ProcessorError as error:
                # Of another account at the processor, or deleted there.
                if not error.is_unknown_customer:
                    raise
        return await self._open_checkout(buyer, tier, {"customer_email": buyer.member["email"]})

    async def portal_url(self, buyer: Buyer) -> str:
        """Where the member changes how they pay, or cancels; raises ProcessorError."""
        await self._admit(buyer)
        form = {
            "customer": buyer.member["payment_customer_id"],
            "return_url": buyer.account_url,
        }
        return await self._processor.open_portal(buyer.key, form)

    async def _open_checkout(self, buyer: Buyer, tier: Record, payer: Mapping[str, str]) -> str:
        form = _checkout_form(buyer, tier, payer)
        period = int(self._windows.clock().timestamp()) // REPEAT_SECONDS
        repeat_key = hashlib.sha256(f"{urlencode(form)} {period}".encode()).hexdigest()
        return await self._processor.open_checkout(buyer.key, form, repeat_key)

    async def _admit(self, buyer: Buyer) -> None:
        await self._windows.take(buyer.tenant_id, CALLS.of(buyer.member["id"]))


def _checkout_form(buyer: Buyer, tier: Record, payer: Mapping[str, str]) -> dict[str, str]:
    # Events at the platform's address name their tenant; the processor does not copy metadata from
    # the checkout to the subscription.
    named = {
        "tenant_id": buyer.tenant_id,
        "tenant_slug": buyer.tenant_slug,
        MEMBER: buyer.member["id"],
        "tier_id": tier["id"],
    }
    return {
        "mode": "subscription",
        "line_items[0][price]": tier["payment_price_id"],
        "line_items[0][quantity]": "1",
        **payer,
        "client_reference_id": buyer.member["id"],
        "success_url": buyer.paid_url,
        "cancel_url": buyer.tiers_url,
        **{f"metadata[{name}]": value for name, value in named.items()},
        **{f"subscription_data[metadata][{name}]": value for name, value in named.items()},
    }


def _payment_page(buyer: Buyer, url: str) -> str:
    """Fills in the address; the event finds the member by it. The reference is for the site's
    owner, because anyone can put any reference into such a link."""
    reference = {
        "prefilled_email": buyer.member["email"],
        "client_reference_id": buyer.member["id"],
    }
    page, mark, fragment = url.partition("#")
    return f"{page}{'&' if '?' in page else '?'}{urlencode(reference)}{mark}{fragment}"
