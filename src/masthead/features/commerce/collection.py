"""Products, orders, carts and gift cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from masthead.base.errors import Invalid
from masthead.engine.links.file_uses import Uses
from masthead.engine.records.changes import Change, Later, Save
from masthead.engine.records.collection import Collection, Counter, Index
from masthead.engine.records.fields.base import REQUIRED, Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Email, Slug, Text
from masthead.engine.records.fields.values import Date, Flag, Number, Select

CURRENCY_MAX = 3
AMOUNT, MEMBERSHIP = "amount", "membership"
"""The kinds of gift cards."""
MAIL_GIFT = "gifts.mail"


def product_events(change: Change) -> Iterator[str]:
    if change.new is not None:
        yield "product.created" if change.old is None else "product.updated"


def order_events(change: Change) -> Iterator[str]:
    for status in ("paid", "refunded", "shipped"):
        if change.became("status", status):
            yield f"order.{status}"


def check_gift(save: Save) -> Mapping[str, Any]:
    if save.new["kind"] == MEMBERSHIP and not save.new["months"]:
        raise Invalid({"months": REQUIRED})
    return {}


def gift_card_events(change: Change) -> Iterator[str]:
    if change.old is None:
        yield "gift_card.issued"
    elif change.became("redeemed", True):
        yield "gift_card.redeemed"


def gift_card_jobs(change: Change) -> Iterator[Later]:
    """The email with the code, at the time that the card has for it."""
    card = change.new
    if (
        card
        and card["send_on"]
        and (change.old is None or change.old["send_on"] != card["send_on"])
    ):
        yield Later(MAIL_GIFT, {"gift_card_id": card["id"]}, run_at=card["send_on"])


def stamp_cart(save: Save) -> Mapping[str, Any]:
    """Every change is activity, except marking the cart as abandoned. The worker marks carts by
    `idle_since`, which only carts that may be abandoned have."""
    cart = save.new
    is_abandoned = cart["status"] == "abandoned"
    last_activity = cart["last_activity"]
    if not last_activity or ("last_activity" not in save.given and not is_abandoned):
        last_activity = save.now
    abandoned_at = cart["abandoned_at"] or (save.now if is_abandoned else "")
    may_be_abandoned = cart["status"] == "open" and cart["items"] and not abandoned_at
    return {
        "last_activity": last_activity,
        "abandoned_at": abandoned_at,
        "idle_since": last_activity if may_be_abandoned else "",
    }


def cart_events(change: Change) -> Iterator[str]:
    """Once per cart: a reopened cart keeps its `abandoned_at`."""
    if (
        change.new
        and change.new["abandoned_at"]
        and not (change.old and change.old["abandoned_at"])
    ):
        yield "cart.abandoned"


_FILES = Uses(("description",))
products = Collection(
    "products",
    (
        Text(name="name", required=True, max=255),
        Slug(name="slug", source="name"),
        Text(name="description", max=50_000),
        Number(name="price", min=0, help="In minor units, such as cents."),
        Text(name="currency", max=CURRENCY_MAX),
        Flag(name="active", default=True),
        Text(name="payment_product_id", max=255, help="The product's id at the payment processor."),
    ),
    audited="name",
    help="What a site sells.",
    listings=(_FILES.listings,),
    followers=(_FILES,),
    events=product_events,
)

orders = Collection(
    "orders",
    (
        Email(name="email", required=True, personal=True),
        Relation(name="member_id", to="blog_members"),
        Select(
            name="status",
            values=("pending", "paid", "refunded", "shipped", "cancelled"),
            default="pending",
        ),
        Json(name="items"),
        Number(name="total", min=0, help="In minor units."),
        Text(name="currency", max=CURRENCY_MAX),
        Number(name="refunded_amount", min=0, help="In minor units."),
        Text(name="payment_id", max=255, help="The payment's id at the processor."),
    ),
    audited="",
    help="What was bought. The payment receivers make and change orders.",
    events=order_events,
    counters=(Counter(by=("status",)),),
    indexes=(
        Index(("status", "created", "id")),
        Index(("payment_id",), skip_empty="payment_id"),
        # What one person bought, newest first.
        Index(("email", "created", "id")),
        Index(("member_id", "created", "id")),
    ),
)

carts = Collection(
    "carts",
    (
        Email(name="email", required=True, personal=True),
        Json(name="items"),
        Select(name="status", values=("open", "paid", "abandoned"), default="open"),
        Date(name="last_activity", help="Set by every change that does not set it explicitly."),
        Date(name="abandoned_at", read=Access.ENGINE, write=Access.ENGINE),
        Date(name="idle_since", read=Access.ENGINE, write=Access.ENGINE),
    ),
    help="What a buyer has chosen but not paid for yet.",
    before_save=stamp_cart,
    events=cart_events,
    counters=(Counter(by=("status",)),),
    indexes=(
        Index(("status", "last_activity")),
        Index(("email",)),
        # Of all tenants, for the worker.
        Index(("idle_since",), across_tenants=True, skip_empty="idle_since"),
    ),
)

gift_cards = Collection(
    "gift_cards",
    (
        Text(name="code", required=True, max=100, unique=True),
        Select(
            name="kind",
            values=(AMOUNT, MEMBERSHIP),
            default=AMOUNT,
            help="Whether the code is worth an amount of money, or time as a paid member.",
        ),
        Number(name="amount", min=0, help="In minor units; of a tier, what was paid for it."),
        Text(name="currency", max=CURRENCY_MAX),
        Relation(
            name="tier_id",
            to="tiers",
            on_delete=OnDelete.REFUSE,
            help="The tier that the kind `membership` gives.",
        ),
        Number(name="months", min=0, max=1_200, help="How long the tier lasts."),
        Email(name="email", personal=True, help="Who it is for, if anyone was named."),
        Email(name="buyer_email", personal=True),
        Date(name="send_on", help="When the code is emailed, to `email` or else to the buyer."),
        Date(name="sent_at", write=Access.ENGINE, help="When that email was queued."),
        Flag(name="redeemed"),
        Date(name="redeemed_at", help="When a member redeemed it on the site."),
        Relation(name="redeemed_by", to="blog_members"),
        Date(name="voided_at", help="When it became void: its payment was refunded as a whole."),
        Text(name="payment_id", max=255, help="The payment's id at the processor."),
    ),
    audited="",
    help="Codes that are worth an amount of money, or a paid tier for some months.",
    before_save=check_gift,
    events=gift_card_events,
    jobs=gift_card_jobs,
    indexes=(
        Index(("email", "created", "id")),
        Index(("buyer_email",), skip_empty="buyer_email"),
        Index(("payment_id",), skip_empty="payment_id"),
    ),
)
