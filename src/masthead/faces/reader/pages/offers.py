"""The page of an offer, and the way from it to the payment."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from masthead.base.caller import Audience
from masthead.base.errors import NotFound
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Collection, Record
from masthead.faces.reader.cards import local_time
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.member.back import HOME
from masthead.faces.reader.member_views import OfferPage
from masthead.faces.reader.pages.tiers import (
    ACCOUNT,
    buyer_of,
    failed_page,
    payment_page,
    remember_post,
)
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.faces.reader.tiers import has_payment_key, money_text, sells, shown_tier
from masthead.faces.reader.views import Head
from masthead.features.members.collection import reader_of_member
from masthead.features.payments.checkout import has_checkout
from masthead.features.payments.collection import payment_subscriptions, tiers
from masthead.features.payments.offers import (
    OfferState,
    discounted_payments,
    find_code,
    offer_state,
    offers,
    price_with,
)
from masthead.features.payments.processor import ProcessorError

OFFERS = "/member/offer/"
_OVER = {
    OfferState.ENDED: (
        words("This offer has ended"),
        words("It could be taken for a limited time."),
    ),
    OfferState.USED_UP: (
        words("This offer is used up"),
        words("It was for a limited number of readers."),
    ),
}


class _OfferAndTier(NamedTuple):
    offer: Record
    tier: Record
    state: OfferState


async def offer(request: SiteRequest, code: str) -> Page:
    offered, tier, state = await _read_offer(request, code)
    if state in _OVER:
        return _over_page(request, state)
    price = price_with(offered, tier)
    is_trial = offered["kind"] == "trial_days"
    shown = OfferPage(
        title=_title(request, offered, tier),
        path=OFFERS + offered["code"],
        tier=replace(shown_tier(request, tier), can_buy=_can_buy(request, tier)),
        price="" if is_trial else money_text(request, price, tier["currency"]),
        lasts=_lasts(offered, tier),
        ends=local_time(request, offered["ends_at"]) if offered["ends_at"] else None,
        has_tried=await _has_tried(request, offered),
    )
    head = Head(title=f"{shown.title} · {site_of(request).name}", noindex=True)
    return Page("offer.html", head, shown)


async def take_offer(request: SiteRequest, _form: Form, code: str) -> Page | Redirect:
    """Sends a member to the payment of the tier with the offer."""
    offered, tier, state = await _read_offer(request, code)
    if state in _OVER:
        return _over_page(request, state)
    member, path = request.member, OFFERS + offered["code"]
    if member is None:
        return see_other(f"/member/sign-in?back={path}")
    # A second subscription would be paid on top of the first one.
    if reader_of_member(member).audience >= Audience.PAID:
        return see_other(ACCOUNT)
    if await _has_tried(request, offered):
        return see_other(path)
    if not _can_buy(request, tier):
        raise NotFound(words("This tier is no longer sold."))
    buyer = buyer_of(request, await remember_post(request, member, HOME), path)
    checkouts = request.services.payments.checkouts
    try:
        return payment_page(request, await checkouts.offer_url(buyer, tier, offered))
    except ProcessorError as error:
        if error.is_used_coupon:
            return _over_page(request, OfferState.USED_UP)
        return failed_page(request, error)


async def _read_offer(request: SiteRequest, code: str) -> _OfferAndTier:
    """An active one for an active tier, which may be over."""
    stored = find_code(code) if sells(request) else ""
    found = await _find(request, offers, code=stored) if stored else None
    tier = await _find(request, tiers, id=found["tier"]) if found else None
    if found and tier and tier["active"]:
        state = offer_state(found, request.now)
        if state is not OfferState.INACTIVE:
            return _OfferAndTier(found, tier, state)
    raise NotFound(words("There is no such offer."))


async def _find(request: SiteRequest, collection: Collection, **equals: str) -> Record | None:
    return await request.records.find_one(collection, equals, tenant_id=request.tenant_id)


async def _has_tried(request: SiteRequest, offered: Record) -> bool:
    """A member has a trial once: otherwise nobody who ends it in time would ever pay."""
    if offered["kind"] != "trial_days" or request.member is None:
        return False
    mine = {"member_id": request.member["id"], "offer_id": offered["id"]}
    return await _find(request, payment_subscriptions, **mine) is not None


def _can_buy(request: SiteRequest, tier: Record) -> bool:
    return has_checkout(tier, has_key=has_payment_key(request))


def _title(request: SiteRequest, offered: Record, tier: Record) -> str:
    name = tier["name"]
    if offered["kind"] == "trial_days":
        return words("Try %(tier)s for %(time)s", tier=name, time=_lasts(offered, tier))
    if offered["kind"] == "percent":
        return words("%(percent)s%% off %(tier)s", percent=offered["value"], tier=name)
    amount = money_text(request, offered["value"], tier["currency"])
    return words("%(amount)s off %(tier)s", amount=amount, tier=name)


def _lasts(offered: Record, tier: Record) -> str:
    if offered["kind"] == "trial_days":
        return counted("%(number)s day", "%(number)s days", offered["value"])
    payments = discounted_payments(offered, tier)
    if not payments:
        return ""
    if tier["interval"] == "year":
        return counted("%(number)s year", "%(number)s years", payments)
    return counted("%(number)s month", "%(number)s months", payments)


def _over_page(request: SiteRequest, state: OfferState) -> Page:
    title, problem = _OVER[state]
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Page("offer.html", head, OfferPage(title, request.path, problem=problem), 410)
