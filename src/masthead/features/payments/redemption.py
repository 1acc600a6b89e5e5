"""Redeems the code of a gift membership: once, for one member."""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR, datetime
from enum import Enum, auto

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.features.commerce.collection import MEMBERSHIP, gift_cards
from masthead.features.members.collection import blog_members
from masthead.features.payments.access import give_access, has_subscription
from masthead.features.payments.gifts import typed_code
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows

_LIMITS = Limits(per_minute=5, per_hour=30)
_REFUSAL = words("You have tried this too often. Wait a minute and try again.")
_MEMBER = Allowance("gift_codes/member", _LIMITS, _REFUSAL)
_NETWORK = Allowance("gift_codes/network", _LIMITS, _REFUSAL)


class Refusal(Enum):
    """Why a code was not redeemed."""

    UNKNOWN = auto()
    YOURS = auto()
    """The member has redeemed it before, perhaps by a second click."""
    USED = auto()
    VOID = auto()
    """Its payment was refunded."""
    SUBSCRIBED = auto()
    """The member pays already, so the code stays as it is."""
    ENDLESS = auto()
    """The member was given access without an end, which the gift would shorten."""


async def admit(windows: Windows, tenant_id: TenantId, member_id: str, address: str) -> None:
    """Counts a try, so that nobody can guess a code. Raises RateLimited."""
    await windows.take(tenant_id, _MEMBER.of(member_id), _NETWORK.of(network_of(address)))


async def redeem(unit: Unit, member_id: str, given: str) -> Record | Refusal:
    """The member after it, or why it was refused. Of two that redeem a code at once, the second
    finds it used: a unit has the site to itself."""
    card = await _find(unit, given)
    if card is None:
        return Refusal.UNKNOWN
    if card["redeemed"]:
        return Refusal.YOURS if card["redeemed_by"] == member_id else Refusal.USED
    if card["voided_at"]:
        return Refusal.VOID
    if await has_subscription(unit, member_id):
        return Refusal.SUBSCRIBED
    member = await unit.require(blog_members, {"id": member_id})
    if member["tier"] == "paid" and not member["access_until"]:
        return Refusal.ENDLESS
    begin = clock.from_text(max(unit.now, member["access_until"]))
    until = clock.to_text(months_later(begin, card["months"]))
    taken = {"redeemed": True, "redeemed_at": unit.now, "redeemed_by": member_id}
    await unit.update(gift_cards, card["id"], taken)
    return await give_access(unit, member_id, until=until, tier_id=card["tier_id"])


def months_later(moment: datetime, months: int) -> datetime:
    """The same day of a later month, or the month's last day if it has no such day."""
    years, month = divmod(moment.month - 1 + months, 12)
    if moment.year + years > MAXYEAR:
        return moment.replace(year=MAXYEAR, month=12, day=31)
    year, month = moment.year + years, month + 1
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


async def _find(unit: Unit, given: str) -> Record | None:
    """As it was typed, because owners may choose their own codes; else as we write ours."""
    typed = given.strip()
    for code in (typed, typed_code(typed)):
        card = await unit.find_one(gift_cards, {"code": code}) if code else None
        if card is not None and card["kind"] == MEMBERSHIP:
            return card
    return None
