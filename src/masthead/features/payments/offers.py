"""Offers: codes with which a reader pays less for a tier, or tries it first. The declaration of
the collection, when an offer is open, and what it means for a price."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.engine.records.changes import Save
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import Access, FieldError
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Flag, Number, Select

MAX_CODE = 40
"""Characters, as in the name of a coupon at the processor, which readers see there."""
MAX_MONTHS = 120
MONTHS = {"month": 1, "year": 12}
"""In the interval of a tier."""
MOST: Mapping[str, int] = {"percent": 100, "amount": 99_999_999, "trial_days": 365}
"""The kinds, each with its largest value."""


class OfferCode(Text, frozen=True, kw_only=True):
    """Stored in small letters, so that each code has one value however it is typed."""

    max: int = MAX_CODE
    pattern: re.Pattern[str] | None = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
    allowed: str = staff_words("May hold letters a to z, digits, hyphens and underscores.")

    def parse(self, value: Any) -> str:
        return super().parse(value).lower()


def check_terms(save: Save) -> Mapping[str, Any]:
    """The range of the value depends on the kind, and a trial has no months."""
    offer = save.new
    problems = {}
    most = MOST[offer["kind"]]
    if offer["value"] > most:
        problems["value"] = Problem(
            "validation_max_number_constraint",
            staff_words("Must be less or equal than %(max)s.", max=most),
            {"max": most},
        )
    if offer["kind"] == "trial_days" and offer["months"]:
        problems["months"] = Problem(
            "validation_invalid_value",
            staff_words("Must be 0 for a trial, which lasts the days of its value."),
        )
    if problems:
        raise Invalid(problems)
    return {}


CODE = OfferCode(
    name="code",
    required=True,
    unique=True,
    help="Readers open `/member/offer/<code>`. Upper and lower case are the same.",
)
offers = Collection(
    "offers",
    (
        CODE,
        Relation(
            name="tier",
            to="tiers",
            required=True,
            on_delete=OnDelete.REFUSE,
            help="The tier that it is for.",
        ),
        Select(
            name="kind",
            values=tuple(MOST),
            default="percent",
            help="A discount in percent, a discount as an amount, or days to try the tier.",
        ),
        Number(
            name="value",
            required=True,
            min=1,
            max=max(MOST.values()),
            help="Percent (at most 100), an amount in the currency's smallest unit, or days (at "
            "most 365).",
        ),
        Number(
            name="months",
            min=0,
            max=MAX_MONTHS,
            help="How long a discount lasts; 0: for every payment. A yearly payment counts as "
            "begun: 1 to 12 months are the first year.",
        ),
        Date(name="ends_at", help="When it ends, if it does."),
        Number(name="max_uses", min=0, help="How often it can be used; 0: without a limit."),
        Number(
            name="uses",
            write=Access.ENGINE,
            help="How many subscriptions were bought with it, as the processor reports.",
        ),
        Flag(name="active", default=True, help="Whether readers can open it."),
        Text(
            name="coupon_id",
            max=255,
            read=Access.ENGINE,
            write=Access.ENGINE,
            help="The processor's coupon with these terms.",
        ),
    ),
    audited="code",
    audited_without=frozenset({"uses", "coupon_id"}),
    before_save=check_terms,
    help="Codes with which readers pay less for a tier, or try it first.",
)


def find_code(text: str) -> str:
    """The code as it is stored; '' if no offer has it."""
    try:
        return str(CODE.parse(text))
    except FieldError:
        return ""


class OfferState(StrEnum):
    OPEN = "open"
    INACTIVE = "inactive"
    ENDED = "ended"
    USED_UP = "used up"


def offer_state(offer: Record, now: str) -> OfferState:
    if not offer["active"]:
        return OfferState.INACTIVE
    if offer["ends_at"] and offer["ends_at"] <= now:
        return OfferState.ENDED
    if offer["max_uses"] and offer["uses"] >= offer["max_uses"]:
        return OfferState.USED_UP
    return OfferState.OPEN


def price_with(offer: Record, tier: Record) -> int:
    """The price of a payment while the offer lasts."""
    if offer["kind"] == "trial_days":
        return 0
    price, value = int(tier["price"]), int(offer["value"])
    # Half a cent is rounded up, in the reader's favour.
    less = value if offer["kind"] == "amount" else (price * value + 50) // 100
    return max(price - less, 0)


def discounted_payments(offer: Record, tier: Record) -> int:
    """How many payments of the tier it makes cheaper; 0: all of them."""
    return -(-int(offer["months"]) // MONTHS[tier["interval"]])
