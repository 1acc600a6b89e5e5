"""The processor's coupons of offers: one for the terms of each offer, made before its first
checkout.

A coupon's id is made of the offer and its terms. So a repeat, after a crash or in another process,
finds the same coupon, and the processor counts its uses in one place. Changed terms are another
coupon; those who have bought with the first one keep it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.payments.offers import discounted_payments, offers
from masthead.features.payments.payloads import OFFER
from masthead.features.payments.processor import Processor, repeat_key

FURTHEST_END = timedelta(days=5 * 365)
"""The processor accepts no later end. Ours counts in any case: an offer that has ended leads to no
checkout."""


class Coupons:
    def __init__(self, processor: Processor, records: Records) -> None:
        self._processor = processor
        self._records = records

    async def find(self, key: str, tier: Record, offer: Record) -> str:
        """The id of the coupon, which is made if the offer has none yet; raises ProcessorError."""
        if offer["coupon_id"] == coupon_id(tier, offer):
            return str(offer["coupon_id"])
        return await self.make(key, tier, offer)

    async def make(self, key: str, tier: Record, offer: Record) -> str:
        made, now = coupon_id(tier, offer), self._records.clock()
        form = _coupon_form(made, tier, offer, now)
        await self._processor.make_coupon(key, form, repeat_key(form, now))
        await self._remember(tier, offer, made)
        return made

    async def _remember(self, tier: Record, offer: Record, made: str) -> None:
        """Unless the terms have changed meanwhile."""
        async with self._records.unit(system(TenantId(offer["tenant_id"]))) as unit:
            current = await unit.find_one(offers, {"id": offer["id"]})
            if current and coupon_id(tier, current) == made:
                await unit.stamp(offers, current, {"coupon_id": made})


def coupon_id(tier: Record, offer: Record) -> str:
    limits = {"ends_at": offer["ends_at"], "max_uses": offer["max_uses"]}
    terms = urlencode({**_discount(tier, offer), **limits})
    return f"{offer['id']}-{hashlib.sha256(terms.encode()).hexdigest()[:12]}"


def _coupon_form(made: str, tier: Record, offer: Record, now: datetime) -> dict[str, str]:
    form = {
        "id": made,
        "name": offer["code"],
        **_discount(tier, offer),
        "metadata[tenant_id]": offer["tenant_id"],
        f"metadata[{OFFER}]": offer["id"],
    }
    ends = clock.from_text(offer["ends_at"]) if offer["ends_at"] else None
    if ends and ends < now + FURTHEST_END:
        form["redeem_by"] = str(int(ends.timestamp()))
    if offer["max_uses"]:
        form["max_redemptions"] = str(offer["max_uses"] - offer["uses"])
    return form


def _discount(tier: Record, offer: Record) -> Mapping[str, str]:
    if offer["kind"] == "percent":
        off = {"percent_off": str(offer["value"])}
    else:
        off = {"amount_off": str(offer["value"]), "currency": tier["currency"].lower()}
    payments = discounted_payments(offer, tier)
    if payments == 0:
        return {**off, "duration": "forever"}
    if payments == 1:
        return {**off, "duration": "once"}
    return {**off, "duration": "repeating", "duration_in_months": str(offer["months"])}
