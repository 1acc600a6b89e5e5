"""Webhook subscriptions and the log of their deliveries."""

from __future__ import annotations

from masthead.records.collection import Collection, Counter, Index
from masthead.records.fields.base import Access
from masthead.records.fields.documents import TextList
from masthead.records.fields.relation import OnDelete, Relation
from masthead.records.fields.secrets import Secret
from masthead.records.fields.text import Text, Url
from masthead.records.fields.values import Date, Number, Select

webhook_subscriptions = Collection(
    "webhook_subscriptions",
    (
        Text(name="name", required=True, max=100),
        Url(name="url", required=True),
        TextList(name="events", required=True),
        Secret(name="secret", write=Access.ENGINE, max=500),
        Number(name="failure_count", write=Access.ENGINE),
        Date(name="last_delivery_at", write=Access.ENGINE),
        Date(name="disabled_at", write=Access.ENGINE),
    ),
)

webhook_deliveries = Collection(
    "webhook_deliveries",
    (
        Relation(
            name="webhook_id",
            to="webhook_subscriptions",
            write=Access.ENGINE,
            on_delete=OnDelete.CLEAR,
        ),
        Text(name="event", max=100, write=Access.ENGINE),
        Text(name="event_id", max=15, write=Access.ENGINE),
        Select(
            name="state",
            values=("pending", "delivered", "dead", "dropped"),
            default="pending",
            write=Access.ENGINE,
        ),
        Number(name="attempts", write=Access.ENGINE),
        Number(name="last_status", nullable=True, write=Access.ENGINE),
        Date(name="next_attempt_at", write=Access.ENGINE),
    ),
    counters=(Counter(by=("state",)),),
    indexes=(Index(("state", "created", "id")), Index(("webhook_id", "created", "id"))),
)
