"""The prices of a site's tiers, and which of the payment processor's products, customers and
subscriptions are which products and members."""

from __future__ import annotations

import re

from masthead.base import ids
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Index, Rules, SiteRules
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select

ON_SALE = "active = true"

tiers = Collection(
    "tiers",
    (
        Text(name="name", required=True, max=100),
        Number(
            name="price",
            required=True,
            min=1,
            max=99_999_999,
            help="The price that readers see, in the currency's smallest unit.",
        ),
        Text(
            name="currency",
            required=True,
            max=3,
            pattern=re.compile(r"[A-Za-z]{3}"),
            allowed=staff_words("Must be a currency's code, such as eur."),
            help="Three letters, such as `eur`.",
        ),
        Select(
            name="interval",
            values=("month", "year"),
            default="month",
            help="How often the price is paid.",
        ),
        TextList(
            name="benefits", max_items=12, max_length=200, help="What a member gets, line by line."
        ),
        Number(name="position", help="Tiers with a lower number are shown first."),
        Flag(name="active", default=True, help="Whether readers see it and may buy it."),
        Url(
            name="payment_url",
            pattern=re.compile(r"https://.*"),
            allowed=staff_words("Must be the whole address of a payment page, with https."),
            help="A payment page, used if there is no price id or the site has no payment key.",
        ),
        Text(
            name="payment_price_id",
            max=255,
            pattern=re.compile(r"[A-Za-z0-9_.-]+"),
            allowed=staff_words(
                "Must be the id of a price at the payment processor, such as price_1Abc."
            ),
            read=Access.SITE,
            help="The price's id at the processor. With the site's `member_payment_secret_key`, "
            "readers pay in a checkout for it.",
        ),
    ),
    audited="name",
    in_use="A post, a member, an offer or a gift card has this tier, so it can't be deleted. Set "
    "its `active` to false: then nobody else can buy it.",
    help="The paid tiers that a site sells.",
    rules=Rules(read=ON_SALE),
    # The payment page decides where the money goes, so only owners set it.
    editors=Rules(read=""),
    authors=Rules(read=""),
    contributors=Rules(read=""),
    site=SiteRules(
        read=ON_SALE,
        fields=(
            "name",
            "price",
            "currency",
            "interval",
            "benefits",
            "position",
            "payment_url",
            "payment_price_id",
            "created",
        ),
    ),
)

payment_products = Collection(
    "payment_products",
    (
        Text(name="payment_product_id", required=True, max=255, unique=True),
        Text(name="payment_price_id", max=255),
        Relation(name="product_id", to="products", on_delete=OnDelete.CASCADE),
    ),
    help="Maps products of the payment processor to the site's products.",
)

payment_customers = Collection(
    "payment_customers",
    (
        Text(name="payment_customer_id", required=True, max=255, unique=True, personal=True),
        Relation(name="member_id", to="blog_members", on_delete=OnDelete.CASCADE),
        Date(name="event_created", help="When the last event that names both was created."),
    ),
    help="Maps customers of the payment processor to members.",
)

payment_subscriptions = Collection(
    "payment_subscriptions",
    (
        Text(
            name="payment_subscription_id",
            required=True,
            max=255,
            unique=True,
            help="The subscription's id at the processor, or the customer's or checkout's id if "
            "there is none.",
        ),
        Text(name="payment_customer_id", max=255, personal=True),
        Relation(name="member_id", to="blog_members", on_delete=OnDelete.CASCADE),
        Text(name="status", max=50, help="As the processor names it."),
        Text(name="payment_price_id", max=255, help="The price, as the processor names it."),
        Date(
            name="price_event_created", help="When the last event that names a price was created."
        ),
        Text(
            name="tier_id",
            max=ids.LENGTH,
            help="The tier that the price belonged to. It stays when the tier gets another price.",
        ),
        Date(name="current_period_end"),
        Date(name="ends_at", help="When it ends, if it was cancelled."),
        Date(name="event_created", help="When the event that set the status was created."),
        Select(name="tier", values=("free", "paid")),
        Date(name="tier_event_created", help="When the event that set the tier was created."),
        Date(name="payment_failed_at"),
        Text(name="offer_id", max=ids.LENGTH, help="The offer that it was bought with."),
    ),
    help="The processor's last report on each subscription.",
    indexes=(Index(("payment_customer_id",), skip_empty="payment_customer_id"),),
)
