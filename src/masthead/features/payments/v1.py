"""The public API of tiers and offers."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.features.payments.collection import tiers
from masthead.features.payments.offers import offers
from masthead.web.v1.resource import Resource
from masthead.web.v1.schema import Body, View

_FIELDS = (
    *("name", "price", "currency", "interval", "benefits", "position", "active"),
    *("payment_url", "payment_price_id"),
)
_EMPTY = frozenset({"payment_url", "payment_price_id"})

TIER = View("Tier", tiers, ("id", *_FIELDS, "created", "updated"), nullable=_EMPTY)
CREATE = Body(
    "TierCreate",
    tiers,
    _FIELDS,
    required=frozenset({"name", "price", "currency"}),
    nullable=_EMPTY,
)

TIERS = Resource(
    collection=tiers,
    path="/tiers",
    noun=("tier", "tiers"),
    scopes=("tiers:read", "tiers:write"),
    view=TIER,
    create=CREATE,
    update=replace(CREATE, name="TierUpdate", partial=True),
    may_conflict=True,
).routes

_OFFER_FIELDS = ("code", "tier", "kind", "value", "months", "ends_at", "max_uses", "active")

OFFER = View(
    "Offer",
    offers,
    ("id", *_OFFER_FIELDS, "uses", "created", "updated"),
    nullable=frozenset({"ends_at"}),
)
OFFER_CREATE = Body(
    "OfferCreate",
    offers,
    _OFFER_FIELDS,
    required=frozenset({"code", "tier", "kind", "value"}),
    nullable=frozenset({"ends_at"}),
)

OFFERS = Resource(
    collection=offers,
    path="/offers",
    noun=("offer", "offers"),
    scopes=("tiers:read", "tiers:write"),
    view=OFFER,
    create=OFFER_CREATE,
    update=replace(OFFER_CREATE, name="OfferUpdate", partial=True),
).routes

routes = (*TIERS, *OFFERS)
