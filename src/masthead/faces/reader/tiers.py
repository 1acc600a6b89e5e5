"""The tiers that a site sells, and a member's own tier, as templates show them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.reader.cards import local_time
from masthead.faces.reader.member_views import OwnTier, Tier
from masthead.faces.reader.prices import price_text
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Offer
from masthead.features.members.record_view import MemberRecord
from masthead.features.payments.checkout import is_on_sale
from masthead.features.payments.collection import payment_subscriptions, tiers
from masthead.features.payments.memberships import MAX_SUBSCRIPTIONS
from masthead.features.payments.subscription_state import MEMBER_STATUS, MemberStatus
from masthead.features.site.collection import site_settings

MAX_TIERS = 12
QUICK_CHECKS, ALL_CHECKS = 30, 60
QUICK_SECONDS, SLOW_SECONDS = 1, 5
CHECKOUT = "checkout"
"""In the address to which the processor sends a member back: how often the page has looked."""


def payment_key(request: SiteRequest) -> str:
    return request.records.reveal(site_settings, request.site_record, "member_payment_secret_key")


def has_payment_key(request: SiteRequest) -> bool:
    return bool(request.site_record["member_payment_secret_key"])


def sells(request: SiteRequest) -> bool:
    """A site without members sells nothing, and neither does one that waits for its deletion."""
    site = request.site_record
    return bool(site["members_enabled"] and not site["deleted_at"])


async def tiers_on_sale(request: SiteRequest) -> list[Record]:
    return await _tiers_of(request) if sells(request) else []


async def sells_gifts(request: SiteRequest) -> bool:
    """Gifts are paid through the processor's API only."""
    return has_payment_key(request) and bool(await tiers_on_sale(request))


async def _tiers_of(request: SiteRequest) -> list[Record]:
    """The active ones, in the site's order."""
    wanted = ListRequest(per_page=MAX_TIERS, sort="position,created", skip_total=True)
    found = await request.records.page(request.caller, tiers, wanted)
    return [{**each, "benefits": msgspec.json.decode(each["benefits"])} for each in found.items]


def shown_tier(request: SiteRequest, tier: Record) -> Tier:
    return Tier(
        id=tier["id"],
        name=tier["name"],
        price=_price(request, tier),
        interval=tier["interval"],
        benefits=tuple(tier["benefits"]),
        can_buy=is_on_sale(tier, has_key=has_payment_key(request)),
    )


def _price(request: SiteRequest, tier: Record) -> str:
    return money_text(request, tier["price"], tier["currency"])


def money_text(request: SiteRequest, amount: int, currency: str) -> str:
    return price_text(amount, currency, request.site_record["language"] or "en")


async def offer_of(request: SiteRequest, levels: Collection[str] = ()) -> Offer | None:
    """The lowest price, in the currency of the first tier: others can't be compared with it.
    `levels`: of these tiers."""
    found = await tiers_on_sale(request)
    if levels:
        found = [each for each in found if each["id"] in levels]
    if not found:
        return None
    same = [each for each in found if each["currency"] == found[0]["currency"]]
    lowest = min(same, key=lambda tier: int(tier["price"]))
    return Offer(_price(request, lowest), lowest["interval"], is_lowest=len(found) > 1)


async def own_tier(request: SiteRequest, member: MemberRecord) -> OwnTier:
    subscription = await _subscription_of(request, member)
    until = member["access_until"]
    # It ends at the end of a day.
    given = local_time(request, until) - timedelta(milliseconds=1) if until else None
    level = member["tier_id"] if given else (subscription or {}).get("tier_id", "")
    tier = await _level(request, level or member["tier_id"])
    is_paid = member["tier"] == "paid" and member["status"] != "cancelled"
    ends, renews = (
        local_time(request, subscription[name]) if subscription and subscription[name] else None
        for name in ("ends_at", "current_period_end")
    )
    own = OwnTier(
        is_paid=is_paid,
        is_subscribed=is_paid and subscription is not None,
        is_past_due=is_paid and member["status"] == "past_due",
        is_trial=is_paid and subscription is not None and subscription["status"] == "trialing",
        has_ended=not is_paid and member["status"] == "cancelled",
        name=tier["name"] if tier else "",
        # What was given has no price.
        price=_price(request, tier) if tier and subscription and not given else "",
        interval=tier["interval"] if tier else "",
        renews=renews if is_paid and not ends else None,
        ends=ends if is_paid else None,
        given=given if is_paid else None,
        can_manage=has_payment_key(request) and bool(member["payment_customer_id"]),
        can_upgrade=not is_paid and bool(await tiers_on_sale(request)),
    )
    return own if is_paid else _with_check(request, own)


async def _subscription_of(request: SiteRequest, member: MemberRecord) -> Record | None:
    """The one that makes the member paid."""
    rows = await request.records.find(
        payment_subscriptions,
        {"member_id": member["id"]},
        tenant_id=request.tenant_id,
        limit=MAX_SUBSCRIPTIONS,
    )
    running = [
        row
        for row in rows
        if row["tier"] == "paid" and MEMBER_STATUS.get(row["status"]) is not MemberStatus.CANCELLED
    ]
    return max(running, key=lambda row: str(row["event_created"])) if running else None


async def _level(request: SiteRequest, level: str) -> Record | None:
    """The tier that the member has, also one that is no longer on sale."""
    if not level:
        return None
    return await request.records.find_one(tiers, {"id": level}, tenant_id=request.tenant_id)


def _with_check(request: SiteRequest, own: OwnTier) -> OwnTier:
    """The member comes back from the payment before its event does, or without having paid: the
    page says that it waits, and looks again by itself for a while."""
    checks = request.query.get(CHECKOUT, "")
    if not checks.isascii() or not checks.isdigit():
        return own
    number = int(checks[:4])
    if number > ALL_CHECKS:
        return replace(own, is_confirming=True)
    seconds = QUICK_SECONDS if number <= QUICK_CHECKS else SLOW_SECONDS
    return replace(
        own,
        is_confirming=True,
        check_url=f"{request.path}?{CHECKOUT}={number + 1}",
        check_seconds=seconds,
    )
