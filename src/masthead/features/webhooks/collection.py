"""Webhook subscriptions and the log of their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from masthead.base.config.values import Network
from masthead.base.languages.words import staff_words
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access, Field, refuse
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.engine.records.registry import Registry
from masthead.features.webhooks.event_filter import EventFilter
from masthead.features.webhooks.sent_headers import SentHeaders, stamp_header_names
from masthead.outside.outbound.errors import OutboundError
from masthead.outside.outbound.targets import WEBHOOKS, check_target, parse_url

PENDING, DELIVERED, DEAD, DROPPED = "pending", "delivered", "dead", "dropped"
ALL_EVENTS = "*"
"""In a list of events: all of them, later ones too."""
DELIVERIES_DELIVERED, DELIVERIES_DIED = "deliveries.delivered", "deliveries.died"
"""Counted by day, when a delivery ends."""


class ReceiverUrl(Url, frozen=True, kw_only=True):
    """Parsed as strictly as by the client that will call it. The client resolves the host name
    (`OutboundClient.check_url`), and again at every attempt."""

    allow: tuple[Network, ...] | None = None
    """The operator's own networks; once they are known, addresses and ports are checked too."""

    def parse(self, value: Any) -> str:
        address = super().parse(value)
        try:
            url = parse_url(address, WEBHOOKS)
            if self.allow is not None:
                check_target(url, WEBHOOKS, self.allow)
        except OutboundError as error:
            raise refuse("validation_invalid_url", error.message) from None
        return address


webhook_subscriptions = Collection(
    "webhook_subscriptions",
    (
        Text(name="name", required=True, max=100),
        ReceiverUrl(name="url", required=True),
        TextList(
            name="events",
            required=True,
            values=(ALL_EVENTS, *EVENT_NAMES),
            help="Which events are sent. `*` is all of them, later ones too.",
        ),
        EventFilter(
            name="filter",
            help="Which of them, as a filter over `event` and `data.…`. Empty for all.",
        ),
        SentHeaders(
            name="headers",
            help="Headers that deliveries have in addition, as an object. Their values are not "
            "shown again.",
        ),
        TextList(
            name="header_names",
            write=Access.ENGINE,
            help="The names of those headers.",
        ),
        Number(
            name="per_minute",
            nullable=True,
            default=None,
            min=1,
            max=6_000,
            help="At most so many deliveries in a minute. Empty for no limit.",
        ),
        Secret(name="secret", write=Access.ENGINE, max=500),
        Secret(name="previous_secret", write=Access.ENGINE, max=500),
        Date(
            name="previous_secret_until",
            read=Access.ADMIN,
            write=Access.ENGINE,
            help="Until then deliveries are signed with the previous secret, too.",
        ),
        # The delivery worker writes the next four directly, not through the engine: they do not
        # change the tenant's content and must not invalidate its caches.
        Number(name="failure_count", write=Access.ENGINE),
        Date(name="last_delivery_at", write=Access.ENGINE),
        Number(
            name="last_status",
            nullable=True,
            write=Access.ENGINE,
            help="The status of the last answer; null without one.",
        ),
        Date(name="disabled_at", write=Access.ENGINE),
        Flag(
            name="paused",
            write=Access.ENGINE,
            help="Whether a person disabled it. Otherwise failures did.",
        ),
    ),
    audited="name",
    before_save=stamp_header_names,
    help="Which events are sent where.",
    made_by="the admin or POST /api/v1/webhooks, which show the signing secret once",
    # The tenant's cached state says whether it has subscribers.
    is_identity=True,
    called=staff_words("webhooks"),
)

webhook_deliveries = Collection(
    "webhook_deliveries",
    (
        # Not a relation: the log outlives the subscription.
        Text(name="webhook_id", max=15, write=Access.ENGINE),
        Text(name="event", max=100, write=Access.ENGINE),
        Text(name="event_id", max=15, write=Access.ENGINE),
        Select(
            name="state",
            values=(PENDING, DELIVERED, DEAD, DROPPED),
            default=PENDING,
            write=Access.ENGINE,
        ),
        Number(name="attempts", write=Access.ENGINE),
        Number(name="last_status", nullable=True, write=Access.ENGINE),
        # Empty unless it is pending.
        Date(name="next_attempt_at", write=Access.ENGINE),
    ),
    help="The log of deliveries to subscriptions.",
    made_by="the events of a subscription",
    # Rows are not written through the engine, so they have no counter.
    counters=(),
    indexes=(
        # The next deliveries of a subscription, with all columns that a claim reads.
        Index(
            ("webhook_id", "next_attempt_at", "id", "event_id", "attempts"),
            skip_empty="next_attempt_at",
        ),
        # Lists, newest first, by each of their filters.
        Index(("webhook_id", "created", "id")),
        Index(("webhook_id", "state", "created", "id")),
        Index(("state", "created", "id")),
        Index(("event", "created", "id")),
        Index(("event_id",)),
    ),
)


def with_outbound_rules(registry: Registry, allow: Sequence[Network]) -> Registry:
    """The same collections, in which a subscription's URL is checked against the operator's
    allowed networks."""

    def bound(field: Field) -> Field:
        return replace(field, allow=tuple(allow)) if isinstance(field, ReceiverUrl) else field

    return registry.with_fields_bound(webhook_subscriptions.name, bound)
