"""The public API of tiers."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.features.payments.collection import tiers
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

routes = Resource(
    collection=tiers,
    path="/tiers",
    noun=("tier", "tiers"),
    scopes=("tiers:read", "tiers:write"),
    view=TIER,
    create=CREATE,
    update=replace(CREATE, name="TierUpdate", partial=True),
).routes
