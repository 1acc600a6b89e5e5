"""The names of all events: the union of the specification's variants (spec 6.2)."""

from __future__ import annotations

EVENT_NAMES = (
    "post.created",
    "post.updated",
    "post.published",
    "post.unpublished",
    "post.deleted",
    "page.published",
    "comment.posted",
    "comment.approved",
    "comment.received",
    "comment.deleted",
    "subscriber.added",
    "subscriber.removed",
    "member.subscribed",
    "member.unsubscribed",
    "member.tier_changed",
    "media.uploaded",
    "order.paid",
    "order.refunded",
    "order.shipped",
    "product.created",
    "product.updated",
    "cart.abandoned",
    "gift_card.issued",
    "test.ping",
)

TEST_PING = "test.ping"
