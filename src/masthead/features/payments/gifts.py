"""Gift memberships: their prices, the code that a payment makes, and what ends a code.

The checkout says in its metadata what was bought; only this service opens checkouts with the
site's key, and the event about it is signed. Nothing is stored before the payment.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from masthead.base import clock, ids
from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.write.unit import Unit
from masthead.features.commerce.collection import MEMBERSHIP, gift_cards
from masthead.features.payments.collection import tiers
from masthead.features.payments.inbox import Inbox
from masthead.features.payments.payloads import Checkout

MONTHS = (1, 3, 6, 12)
MAIL_HOUR = 8
"""On the chosen day, in the site's time zone."""
NO_MONTHS = staff_marked("the metadata of the gift has no months: no code was made")
NO_EMAIL = staff_marked("no email address in the checkout: the code was not emailed")

_TIER, _MONTHS, _TO, _ON = "gift_tier", "gift_months", "gift_to", "gift_on"
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans("OIL", "011", " -\u2010\u2011\u2013")
_GROUPS, _GROUP = 4, 4


class Gift(msgspec.Struct, frozen=True):
    """A gift as its buyer has chosen it."""

    tier_id: str
    months: int
    email: str = ""
    """Who gets the code; '' for the buyer."""
    day: str = ""
    """The day on which it is mailed, as 2026-12-24; '' for at once."""

    def metadata(self) -> Mapping[str, str]:
        values = {_TIER: self.tier_id, _MONTHS: str(self.months), _TO: self.email, _ON: self.day}
        return {name: value for name, value in values.items() if value}


def gift_price(tier: Record, months: int) -> int | None:
    """The price of the tier for so many months, in minor units; None if it isn't given for them."""
    if months not in MONTHS:
        return None
    if tier["interval"] == "year":
        return int(tier["price"]) if months == 12 else None
    return int(tier["price"]) * months


def new_code() -> str:
    """A code of 80 random bits in groups, without letters that look like digits."""
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def typed_code(given: str) -> str:
    """A code of ours as it is stored, however it was typed."""
    plain = given.upper().translate(_READ_AS)
    return "-".join(plain[at : at + _GROUP] for at in range(0, len(plain), _GROUP))


def is_gift(checkout: Checkout) -> bool:
    return _TIER in checkout.metadata


async def settle_gift(unit: Unit, inbox: Inbox, checkout: Checkout) -> str:
    """Makes the code once, when it is paid. Returns what is wrong with it; '' if nothing is."""
    known = await unit.find_one(gift_cards, {"payment_id": checkout.payment})
    if known or not checkout.is_paid:
        return ""
    months = checkout.metadata.get(_MONTHS)
    if not isinstance(months, str) or months not in map(str, MONTHS):
        return NO_MONTHS
    email = _address(checkout.metadata.get(_TO))
    is_void = (await inbox.find_refunded(unit, checkout.payment)).is_full
    now = clock.from_text(unit.now)
    values = {
        "code": new_code(),
        "kind": MEMBERSHIP,
        "tier_id": await _tier_in(unit, checkout.metadata.get(_TIER)),
        "months": int(months),
        "amount": checkout.total,
        "currency": checkout.currency,
        "email": email,
        "buyer_email": checkout.email,
        "send_on": clock.to_text(max(now, _mail_time(unit, checkout.metadata.get(_ON)) or now)),
        "voided_at": unit.now if is_void else "",
        "payment_id": checkout.payment,
    }
    await unit.create(gift_cards, values)
    return "" if email or checkout.email else NO_EMAIL


async def void_refunded(unit: Unit, inbox: Inbox, payment: str) -> None:
    """A gift that was refunded as a whole and that nobody has redeemed. Part of a refund changes
    nothing, and a refund that comes before its payment is found when that comes."""
    card = await unit.find_one(gift_cards, {"payment_id": payment})
    if card is None or card["redeemed"] or card["voided_at"]:
        return
    if (await inbox.find_refunded(unit, payment)).is_full:
        await unit.update(gift_cards, card["id"], {"voided_at": unit.now})


def mail_time(day: date, time_zone: str) -> datetime:
    """When the code of a gift for that day is mailed."""
    return datetime.combine(day, time(MAIL_HOUR), ZoneInfo(time_zone or "UTC"))


def _mail_time(unit: Unit, day: Any) -> datetime | None:
    try:
        chosen = date.fromisoformat(day)
    except (TypeError, ValueError):
        return None
    return mail_time(chosen, unit.tenant.site.settings.get("time_zone", ""))


async def _tier_in(unit: Unit, named: Any) -> str:
    """'' if it was deleted meanwhile: the gift is still one of a paid membership."""
    if not isinstance(named, str) or not ids.is_id(named):
        return ""
    tier = await unit.find_one(tiers, {"id": named})
    return tier["id"] if tier else ""


def _address(given: Any) -> str:
    try:
        email: str = gift_cards.by_name["email"].check(given or "")
    except FieldError:
        return ""
    return email
