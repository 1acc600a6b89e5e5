"""Sends a member to the payment: to a checkout or portal at the processor, or to a payment page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.features.payments.coupons import Coupons
from masthead.features.payments.gift_checkout import GiftBuyer, gift_form
from masthead.features.payments.gifts import Gift
from masthead.features.payments.payloads import MEMBER, OFFER
from masthead.features.payments.processor import Processor, ProcessorError, repeat_key
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows

CALLS = Allowance(
    "checkouts",
    Limits(per_minute=10, per_hour=60),
    words("You have tried this too often. Wait a minute and try again."),
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
    cancel_url: str
    account_url: str
    """Where the processor sends the member afterwards."""
    paid_url: str


def is_on_sale(tier: Record, *, has_key: bool) -> bool:
    """Whether there is any way to pay for it."""
    return bool(tier["payment_url"]) or has_checkout(tier, has_key=has_key)


def has_checkout(tier: Record, *, has_key: bool) -> bool:
    """Whether it is paid in a checkout, which takes offers. A payment page takes none."""
    return bool(has_key and tier["payment_price_id"])


class Checkouts:
    def __init__(self, processor: Processor, windows: Windows, coupons: Coupons) -> None:
        self._processor = processor
        self._windows = windows
        self._coupons = coupons

    async def checkout_url(self, buyer: Buyer, tier: Record) -> str:
        """Where the member pays for a tier that `is_on_sale`; raises ProcessorError."""
        if not buyer.key or not tier["payment_price_id"]:
            return _payment_page(buyer, tier["payment_url"])
        await self._admit(buyer)
        return await self._open_for(buyer, _checkout_form(buyer, tier))

    async def offer_url(self, buyer: Buyer, tier: Record, offer: Record) -> str:
        """Where the member pays for a tier that `has_checkout`, with an open offer for it; raises
        ProcessorError."""
        await self._admit(buyer)
        form = _checkout_form(buyer, tier, offer)
        if offer["kind"] == "trial_days":
            return await self._open_for(buyer, form | _trial(offer))
        coupon = await self._coupons.find(buyer.key, tier, offer)
        try:
            return await self._open_for(buyer, form | _discount(coupon))
        except ProcessorError as error:
            # Made in another account at the processor, or deleted there.
            if not error.is_unknown_coupon:
                raise
        coupon = await self._coupons.make(buyer.key, tier, offer)
        return await self._open_for(buyer, form | _discount(coupon), attempt=2)

    async def portal_url(self, buyer: Buyer) -> str:
        """Where the member changes how they pay, or cancels; raises ProcessorError."""
        await self._admit(buyer)
        form = {
            "customer": buyer.member["payment_customer_id"],
            "return_url": buyer.account_url,
        }
        return await self._processor.open_portal(buyer.key, form)

    async def gift_url(self, buyer: GiftBuyer, key: str, gift: Gift, tier: Record) -> str:
        """Where a member or a guest pays for a gift; raises ProcessorError."""
        await self._windows.take(buyer.tenant_id, CALLS.of(buyer.payer))
        form = gift_form(buyer, gift, tier)
        once = repeat_key(form, self._windows.clock())
        return await self._processor.open_checkout(key, form, once)

    async def _open_for(self, buyer: Buyer, form: Mapping[str, str], attempt: int = 1) -> str:
        """Opens a checkout for the member as the customer that they are, or by address."""
        customer = buyer.member["payment_customer_id"]
        if customer:
            try:
                return await self._open_checkout(buyer, {**form, "customer": customer}, attempt)
            except ProcessorError as error:
                # Of another account at the processor, or deleted there.
                if not error.is_unknown_customer:
                    raise
        email = buyer.member["email"]
        return await self._open_checkout(buyer, {**form, "customer_email": email}, attempt)

    async def _open_checkout(self, buyer: Buyer, form: Mapping[str, str], attempt: int) -> str:
        key = repeat_key(form, self._windows.clock(), attempt)
        return await self._processor.open_checkout(buyer.key, form, key)

    async def _admit(self, buyer: Buyer) -> None:
        await self._windows.take(buyer.tenant_id, CALLS.of(buyer.member["id"]))


def _checkout_form(buyer: Buyer, tier: Record, offer: Record | None = None) -> dict[str, str]:
    # Events at the platform's address name their tenant; the processor does not copy metadata from
    # the checkout to the subscription.
    named = {
        "tenant_id": buyer.tenant_id,
        "tenant_slug": buyer.tenant_slug,
        MEMBER: buyer.member["id"],
        "tier_id": tier["id"],
        **({OFFER: offer["id"]} if offer else {}),
    }
    return {
        "mode": "subscription",
        "line_items[0][price]": tier["payment_price_id"],
        "line_items[0][quantity]": "1",
        "client_reference_id": buyer.member["id"],
        "success_url": buyer.paid_url,
        "cancel_url": buyer.cancel_url,
        **{f"metadata[{name}]": value for name, value in named.items()},
        **{f"subscription_data[metadata][{name}]": value for name, value in named.items()},
    }


def _discount(coupon: str) -> dict[str, str]:
    return {"discounts[0][coupon]": coupon}


def _trial(offer: Record) -> dict[str, str]:
    prefix = "subscription_data"
    return {
        f"{prefix}[trial_period_days]": str(offer["value"]),
        # Otherwise the processor may pause it instead, and a paused subscription keeps its tier.
        f"{prefix}[trial_settings][end_behavior][missing_payment_method]": "cancel",
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
