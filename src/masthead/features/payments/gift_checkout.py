"""The checkout of a gift: one payment, of an amount that this service works out."""

from __future__ import annotations

import hashlib

import msgspec

from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.features.payments.gifts import Gift, gift_price

_ORDER = "gift_order"
"""In the metadata: sets two purchases of the same gift apart."""


class GiftBuyer(msgspec.Struct, frozen=True):
    """A member or a guest, on a site with a key for the processor, which is not kept here."""

    tenant_id: TenantId
    tenant_slug: str
    payer: str
    """The member's id or a guest's network, for which calls are counted."""
    email: str
    """The member's address; '' for a guest, whom the processor asks."""
    order: str
    """The form that the buyer sent: sent twice, it leads to one checkout."""
    form_url: str
    paid_url: str


def gift_form(buyer: GiftBuyer, gift: Gift, tier: Record) -> dict[str, str]:
    price = gift_price(tier, gift.months)
    if price is None:
        raise ValueError(words("The tier is not given for so many months."))
    # The payment's own events, such as refunds, name the tenant by its metadata.
    tenant = {"tenant_id": buyer.tenant_id, "tenant_slug": buyer.tenant_slug}
    order = hashlib.sha256(f"{buyer.payer} {buyer.order}".encode()).hexdigest()[:32]
    named = {**tenant, **gift.metadata(), _ORDER: order}
    item, length = "line_items[0][price_data]", "1 month"
    if gift.months > 1:
        length = f"{gift.months} months"
    return {
        "mode": "payment",
        f"{item}[currency]": tier["currency"].lower(),
        f"{item}[unit_amount]": str(price),
        f"{item}[product_data][name]": f"Gift: {tier['name']}, {length}",
        "line_items[0][quantity]": "1",
        **({"customer_email": buyer.email} if buyer.email else {}),
        "success_url": buyer.paid_url,
        "cancel_url": buyer.form_url,
        **{f"metadata[{name}]": value for name, value in named.items()},
        **{f"payment_intent_data[metadata][{name}]": value for name, value in tenant.items()},
    }
