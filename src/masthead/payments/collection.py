"""Maps the payment processor's products, customers and subscriptions to products and members."""

from __future__ import annotations

from masthead.records.collection import Collection, Index
from masthead.records.fields.relation import OnDelete, Relation
from masthead.records.fields.text import Text
from masthead.records.fields.values import Date, Select

payment_products = Collection(
    "payment_products",
    (
        Text(name="payment_product_id", required=True, max=255, unique=True),
        Text(name="payment_price_id", max=255),
        Relation(name="product_id", to="products", on_delete=OnDelete.CASCADE),
    ),
    help="Which product of the payment processor is which of ours.",
)

payment_customers = Collection(
    "payment_customers",
    (
        Text(name="payment_customer_id", required=True, max=255, unique=True, personal=True),
        Relation(name="member_id", to="blog_members", on_delete=OnDelete.CASCADE),
        Date(name="event_created", help="When the last event that names both was created."),
    ),
    help="Which customer of the payment processor is which member.",
)

payment_subscriptions = Collection(
    "payment_subscriptions",
    (
        Text(
            name="payment_subscription_id",
            required=True,
            max=255,
            unique=True,
            help="The processor's id; the customer's or checkout's where it names no subscription.",
        ),
        Text(name="payment_customer_id", max=255, personal=True),
        Relation(name="member_id", to="blog_members", on_delete=OnDelete.CASCADE),
        Text(name="status", max=50, help="As the processor names it."),
        Date(name="current_period_end"),
        Date(name="event_created", help="When the event that set the status was created."),
        Select(name="tier", values=("free", "paid")),
        Date(name="tier_event_created", help="When the event that set the tier was created."),
        Date(name="payment_failed_at"),
    ),
    help="What the processor has said of each subscription.",
    indexes=(Index(("payment_customer_id",), skip_empty="payment_customer_id"),),
)
