"""The catalog of events: each with its trigger, its payload and an example.

The payloads themselves, the names that a subscription may list, the AsyncAPI description and
docs/reference/events.md are made from this table. The type of a fact is that of the record's field
that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from masthead.base.languages.words import staff_marked


class Category(StrEnum):
    CONTENT = staff_marked("Content")
    COMMENTS = staff_marked("Comments")
    MEMBERS = staff_marked("Members")
    MAILINGS = staff_marked("Mailings")
    MEDIA = staff_marked("Media")
    COMMERCE = staff_marked("Commerce")
    SYSTEM = staff_marked("System")


class Cause(StrEnum):
    """The kind of change of a record."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


Values = Mapping[str, Any]


class Fact(msgspec.Struct, frozen=True):
    """One value of a payload."""

    name: str
    help: str
    example: Any
    shows: str | None = ""
    """The record's field, if it has another name; None if the example is the text itself."""
    nullable: bool = False
    """An empty field is shown as null."""
    where_true: bool = False
    """Left out where it is false."""
    is_previous: bool = False
    """The field's value before the change."""

    @property
    def field(self) -> str | None:
        return self.name if self.shows == "" else self.shows

    @property
    def is_plain(self) -> bool:
        return not (self.nullable or self.where_true or self.is_previous)

    def value(self, record: Values, old: Values) -> Any:
        name = self.field
        if name is None:
            return self.example
        found = old[name] if self.is_previous else record[name]
        return found or None if self.nullable else found


class EventKind(msgspec.Struct, frozen=True, dict=True):
    name: str
    category: Category
    trigger: str
    """Follows "Fires when"."""
    collection: str
    facts: tuple[Fact, ...]
    causes: frozenset[Cause]
    """Empty if no change of a record causes it; then the payload describes none."""
    example_facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Where the example differs from those of the facts."""
    example_previous: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The values that the example's change replaced."""

    def payload(self, record: Values, old: Values | None = None) -> dict[str, Any]:
        """The facts of a record, and of the same record before the change."""
        shown = {}
        for fact, field in self._shown:
            if field is not None:
                shown[fact.name] = record[field]
                continue
            value = fact.value(record, old or {})
            if value or not fact.where_true:
                shown[fact.name] = value
        return shown

    @cached_property
    def _shown(self) -> tuple[tuple[Fact, str | None], ...]:
        """The facts, and the fields of those that are always shown as they are: nearly all, and
        most changes have two payloads."""
        return tuple((fact, fact.field if fact.is_plain else None) for fact in self.facts)

    @property
    def example(self) -> dict[str, Any]:
        """A payload as a subscriber gets it."""
        facts = {fact.name: fact.example for fact in self.facts if not fact.where_true}
        return facts | dict(self.example_facts) | self._example_change()

    def _example_change(self) -> dict[str, Any]:
        if not self.causes:
            return {}
        if not self.example_previous:
            return {"sequence": 4 if Cause.DELETE in self.causes else 1}
        return {
            "sequence": 3,
            "changed": list(self.example_previous),
            "previous": dict(self.example_previous),
        }


_CREATE, _UPDATE, _DELETE = (frozenset({cause}) for cause in Cause)

_MOMENT = "2026-11-14T09:30:00.123Z"
_PUBLISHED = Fact("published_at", "When it became public.", _MOMENT)
_TENANT = Fact("tenant_id", "The site's own id.", "t7n4b2w9c5x1z8q")
_CURRENCY = Fact("currency", "Three letters, such as `eur`.", "eur")

_POST = (
    Fact("post_id", "The post's id.", "k3v9q0x7m2c8b1d", shows="id"),
    Fact("title", "The headline.", "The lighthouse keeps its own hours"),
    Fact(
        "slug",
        "The last part of the post's address.",
        "the-lighthouse-keeps-its-own-hours",
    ),
)
_EMAIL_ONLY = Fact(
    "email_only",
    "It has no page on the site: it is only emailed. Left out otherwise.",
    True,
    where_true=True,
)
_LANGUAGE = Fact(
    "language",
    "The language of the text, as a tag such as `de`. Left out if it is the site's own.",
    "de",
    where_true=True,
)
_POST_WHILE_PUBLIC = (*_POST, _PUBLISHED, _TENANT, _EMAIL_ONLY, _LANGUAGE)
_ANY_POST = (
    *_POST,
    Fact("published_at", "When it became public; null for a draft.", _MOMENT, nullable=True),
    _TENANT,
    _EMAIL_ONLY,
    _LANGUAGE,
)
_PAGE = (
    Fact("page_id", "The page's id.", "p2a4c6e8g0i2k4m", shows="id"),
    Fact("title", "The page's title.", "About the point"),
    Fact("slug", "The last part of the page's address.", "about-the-point"),
    _PUBLISHED,
    _TENANT,
)
_COMMENT = (
    Fact("comment_id", "The comment's id.", "9w2p4z6t8r0y1u3", shows="id"),
    Fact("post_id", "The post it belongs to.", "k3v9q0x7m2c8b1d"),
    Fact("parent_id", "The comment it replies to, if any.", None, nullable=True),
    Fact("author_name", "The name shown with it.", "Ada"),
    Fact("body", "Plain text.", "I grew up in sight of that light."),
    Fact("status", "Only approved comments are shown to readers.", "approved"),
    _TENANT,
)
_MEMBER = (
    Fact("member_id", "The member's id.", "b8d0f2h4j6l8n0p", shows="id"),
    Fact("email", "The member's address, in full.", "jonas@example.com"),
    Fact("name", "The member's name; may be empty.", "Jonas"),
    Fact("tier", "What the member may read.", "free"),
    Fact("status", "The status of the member.", "active"),
    Fact("newsletter", "Whether the newsletter is on.", True),
    _TENANT,
)
_MAILING = (
    Fact("mailing_id", "The mailing's id.", "m1l3i5n7g9s2t4u", shows="id"),
    Fact("post_id", "The post; null if it was deleted.", "k3v9q0x7m2c8b1d", nullable=True),
    Fact("subject", "The subject of the emails.", "The lighthouse keeps its own hours"),
    Fact("status", "How it ended: `sent`, `failed` or `cancelled`.", "sent"),
    Fact("recipients", "How many members it was addressed to.", 1840),
    Fact("sent", "Emails that the mail server accepted.", 1836),
    Fact("failed", "Recipients that the mail server refused.", 3),
    _TENANT,
)
_MEDIA = (
    Fact("media_id", "The media item's id.", "5f8h1j3k6l9m2n4", shows="id"),
    Fact("filename", "The name under which it is stored.", "lamp_room_47r13hicyn.jpg"),
    Fact(
        "url",
        "The file's public address.",
        "https://coast.example.com/media/5f8h1j3k6l9m2n4/lamp_room_47r13hicyn.jpg",
    ),
    Fact("mime_type", "Detected from the content.", "image/jpeg"),
    Fact("size", "In bytes.", 184_213),
    _TENANT,
)
_ITEMS = Fact(
    "items",
    "What was bought, as the record stores it.",
    [{"product_id": "q1w3e5r7t9y1u3i", "quantity": 1, "price": 1800}],
)
_ORDER = (
    Fact("order_id", "The order's id.", "o6u4y2t0r8e6w4q", shows="id"),
    Fact("email", "The buyer's address.", "mira@example.com"),
    Fact("member_id", "The buyer, if a member.", None, nullable=True),
    Fact("status", "The order's state.", "paid"),
    _ITEMS,
    Fact("total", "In minor units, such as cents.", 1800),
    _CURRENCY,
    Fact("refunded_amount", "What has been refunded, in minor units.", 0),
    _TENANT,
)
_PRODUCT = (
    Fact("product_id", "The product's id.", "q1w3e5r7t9y1u3i", shows="id"),
    Fact("name", "The product's name.", "Tide table 2027"),
    Fact("slug", "The last part of the product's address.", "tide-table-2027"),
    Fact("price", "In minor units, such as cents.", 1800),
    _CURRENCY,
    Fact("active", "Whether it is for sale.", True),
    _TENANT,
)
_CART = (
    Fact("cart_id", "The cart's id.", "c9v7b5n3m1l9k7j", shows="id"),
    Fact("email", "Whom to remind.", "mira@example.com"),
    Fact("items", "Its items, as the record stores them.", _ITEMS.example),
    Fact("last_activity", "When it last changed.", "2026-11-13T08:02:11.000Z"),
    _TENANT,
)
_GIFT_CARD = (
    Fact("gift_card_id", "The gift card's id. Its code is never sent.", "g4i6f8t0c2a4r6d", "id"),
    Fact("amount", "In minor units, such as cents.", 5000),
    _CURRENCY,
    Fact("email", "Who it is for, if anyone.", "mira@example.com", nullable=True),
    Fact("kind", "`amount`, or `membership` for some months.", "membership"),
    Fact("tier_id", "The tier that it gives, if it gives one.", "t2i4e6r8l0v2l4s", nullable=True),
    Fact("months", "How long the tier lasts; 0 for an amount.", 12),
    _TENANT,
)
_REDEEMED_BY = Fact(
    "redeemed_by", "The member, if one redeemed it on the site.", "m5e7m9b1e3r5m7b", nullable=True
)
_PING = (
    Fact("webhook_id", "The subscription that is tested.", "w3h5k7m9p1r3t5v", shows="id"),
    Fact("message", "A sentence for people.", "This is a test of your webhook.", shows=None),
    _TENANT,
)

_LEAVES = {"newsletter": False}

CATALOG: tuple[EventKind, ...] = (
    EventKind(
        "post.created",
        Category.CONTENT,
        staff_marked("a post is created, as a draft or published at once"),
        "posts",
        _ANY_POST,
        _CREATE,
        {"published_at": None},
    ),
    EventKind(
        "post.updated",
        Category.CONTENT,
        staff_marked("a published post is edited and stays published"),
        "posts",
        _POST_WHILE_PUBLIC,
        _UPDATE,
        example_previous={"title": "The lighthouse keeps its hours"},
    ),
    EventKind(
        "post.published",
        Category.CONTENT,
        staff_marked("a post becomes published, when it is created or later"),
        "posts",
        _POST_WHILE_PUBLIC,
        _CREATE | _UPDATE,
        example_previous={"status": "draft", "published_at": ""},
    ),
    EventKind(
        "post.unpublished",
        Category.CONTENT,
        staff_marked("a published post goes back to draft"),
        "posts",
        _ANY_POST,
        _UPDATE,
        {"published_at": None},
        {"status": "published", "published_at": _MOMENT},
    ),
    EventKind(
        "post.deleted",
        Category.CONTENT,
        staff_marked("a post is deleted, in any state"),
        "posts",
        _ANY_POST,
        _DELETE,
    ),
    EventKind(
        "page.published",
        Category.CONTENT,
        staff_marked("a page becomes published, when it is created or later"),
        "pages",
        _PAGE,
        _CREATE | _UPDATE,
    ),
    EventKind(
        "comment.posted",
        Category.COMMENTS,
        staff_marked("a comment is stored, in any state"),
        "comments",
        _COMMENT,
        _CREATE,
    ),
    EventKind(
        "comment.approved",
        Category.COMMENTS,
        staff_marked(
            "a comment becomes approved, each time, including one that is approved when it is "
            "created"
        ),
        "comments",
        _COMMENT,
        _CREATE | _UPDATE,
        example_previous={"status": "pending"},
    ),
    EventKind(
        "comment.received",
        Category.COMMENTS,
        staff_marked("a comment becomes approved for the first time"),
        "comments",
        _COMMENT,
        _CREATE | _UPDATE,
    ),
    EventKind(
        "comment.deleted",
        Category.COMMENTS,
        staff_marked("a comment is deleted, by itself or together with its post"),
        "comments",
        _COMMENT,
        _DELETE,
        {"status": "spam"},
    ),
    EventKind(
        "subscriber.added",
        Category.MEMBERS,
        staff_marked(
            "a member signs up or is created with the newsletter on, or turns it on again"
        ),
        "blog_members",
        _MEMBER,
        _CREATE | _UPDATE,
    ),
    EventKind(
        "subscriber.removed",
        Category.MEMBERS,
        staff_marked("a member unsubscribes, is cancelled or is deleted"),
        "blog_members",
        _MEMBER,
        _UPDATE | _DELETE,
        _LEAVES,
        {"newsletter": True},
    ),
    EventKind(
        "member.subscribed",
        Category.MEMBERS,
        staff_marked("the same happens as for `subscriber.added`"),
        "blog_members",
        _MEMBER,
        _CREATE | _UPDATE,
    ),
    EventKind(
        "member.unsubscribed",
        Category.MEMBERS,
        staff_marked("the same happens as for `subscriber.removed`"),
        "blog_members",
        _MEMBER,
        _UPDATE | _DELETE,
        _LEAVES,
        {"newsletter": True},
    ),
    EventKind(
        "member.tier_changed",
        Category.MEMBERS,
        staff_marked("a member's tier changes, by a payment, through the API or by hand"),
        "blog_members",
        (*_MEMBER, Fact("previous_tier", "The previous tier.", "free", "tier", is_previous=True)),
        _UPDATE,
        {"tier": "paid"},
        {"tier": "free"},
    ),
    EventKind(
        "mailing.sent",
        Category.MAILINGS,
        staff_marked(
            "a mailing of a post or digest ends: all recipients are accounted for, or it is "
            "cancelled"
        ),
        "mailings",
        _MAILING,
        _UPDATE,
        example_previous={"status": "sending", "finished_at": ""},
    ),
    EventKind(
        "media.uploaded",
        Category.MEDIA,
        staff_marked("a media item is created"),
        "media",
        _MEDIA,
        _CREATE,
    ),
    EventKind(
        "order.paid",
        Category.COMMERCE,
        staff_marked(
            "a checkout of a product or a cart is completed, or an order's status becomes `paid`"
        ),
        "orders",
        _ORDER,
        _CREATE | _UPDATE,
        example_previous={"status": "pending"},
    ),
    EventKind(
        "order.refunded",
        Category.COMMERCE,
        staff_marked("an order is refunded in full, or its status becomes `refunded`"),
        "orders",
        _ORDER,
        _CREATE | _UPDATE,
        {"status": "refunded", "refunded_amount": 1800},
        {"status": "paid", "refunded_amount": 0},
    ),
    EventKind(
        "order.shipped",
        Category.COMMERCE,
        staff_marked("an order's status becomes `shipped`"),
        "orders",
        _ORDER,
        _CREATE | _UPDATE,
        {"status": "shipped"},
        {"status": "paid"},
    ),
    EventKind(
        "product.created",
        Category.COMMERCE,
        staff_marked("a product is created"),
        "products",
        _PRODUCT,
        _CREATE,
    ),
    EventKind(
        "product.updated",
        Category.COMMERCE,
        staff_marked("a product is edited"),
        "products",
        _PRODUCT,
        _UPDATE,
        example_previous={"price": 1600},
    ),
    EventKind(
        "cart.abandoned",
        Category.COMMERCE,
        staff_marked(
            "a cart with an address and items has not changed for 24 hours and is unpaid; once "
            "per cart"
        ),
        "carts",
        _CART,
        _CREATE | _UPDATE,
        example_previous={"status": "open"},
    ),
    EventKind(
        "gift_card.issued",
        Category.COMMERCE,
        staff_marked(
            "a gift card is created; for a gift that a reader bought, when its payment has arrived"
        ),
        "gift_cards",
        _GIFT_CARD,
        _CREATE,
    ),
    EventKind(
        "gift_card.redeemed",
        Category.COMMERCE,
        staff_marked("a gift card is redeemed"),
        "gift_cards",
        (*_GIFT_CARD[:-1], _REDEEMED_BY, _TENANT),
        _UPDATE,
        example_previous={"redeemed": False},
    ),
    EventKind(
        "test.ping",
        Category.SYSTEM,
        staff_marked(
            "a subscription is tested, in the admin or with `POST /api/v1/webhooks/{id}/test`"
        ),
        "webhook_subscriptions",
        _PING,
        frozenset(),
    ),
)

KINDS = {kind.name: kind for kind in CATALOG}
