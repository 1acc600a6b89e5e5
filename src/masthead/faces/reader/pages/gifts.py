"""The page on which members and guests buy a paid tier for another."""

from __future__ import annotations

import secrets
from datetime import date, timedelta

from msgspec.structs import replace

from masthead.base import clock, ids
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import FieldError
from masthead.faces.reader.cards import local_time
from masthead.faces.reader.endpoint import Form, Page, Redirect
from masthead.faces.reader.member_views import FormProblem, GiftPage, GiftPrice, GiftTier
from masthead.faces.reader.pages.tiers import failed_page, payment_page
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import page_title, site_of
from masthead.faces.reader.tiers import has_payment_key, money_text, payment_key, tiers_on_sale
from masthead.faces.reader.views import Head, Link, MessagePage
from masthead.features.commerce.collection import gift_cards
from masthead.features.payments.gift_checkout import GiftBuyer
from masthead.features.payments.gifts import MONTHS, Gift, gift_price
from masthead.features.payments.processor import ProcessorError
from masthead.identity.limits.networks import network_of

GIFT = "/member/gift"
MAX_DAYS = 365
"""How far away the day of the email may be."""
_MAX_ORDER = 64


async def gift_page(request: SiteRequest) -> Page:
    found = await _tiers_to_give(request)
    if "bought" in request.query:
        return _thanks(request)
    return _draw(request, GiftPage(_shown(request, found)))


async def buy_gift(request: SiteRequest, form: Form) -> Page | Redirect:
    """Sends the buyer to the payment."""
    found = await _tiers_to_give(request)
    typed = GiftPage(
        _shown(request, found),
        tier=form.get("tier", ""),
        months=form.get("months", ""),
        email=form.get("email", "").strip(),
        send_on=form.get("send_on", "").strip(),
        order=form.get("order", "")[:_MAX_ORDER],
    )
    tier = _chosen(found, typed.tier)
    problems: list[FormProblem] = []
    gift = _read_gift(request, typed, tier, problems)
    if tier is None or problems:
        return _draw(request, typed, problems)
    try:
        url = await request.services.payments.checkouts.gift_url(
            _buyer(request, typed.order), payment_key(request), gift, tier
        )
    except ProcessorError as error:
        return failed_page(request, error)
    return payment_page(request, url)


async def _tiers_to_give(request: SiteRequest) -> list[Record]:
    found = await tiers_on_sale(request) if has_payment_key(request) else []
    if not found:
        raise NotFound(words("This site sells no gifts."))
    return found


def _chosen(found: list[Record], tier_id: str) -> Record | None:
    for tier in found:
        if tier["id"] == tier_id:
            return tier
    if ids.is_id(tier_id):
        raise NotFound(words("This tier is no longer sold."))
    return None


def _read_gift(
    request: SiteRequest, typed: GiftPage, tier: Record | None, problems: list[FormProblem]
) -> Gift:
    if tier is None:
        problems.append(FormProblem("tier", words("Choose a tier.")))
    months = int(typed.months) if typed.months in map(str, MONTHS) else 0
    if not months:
        problems.append(FormProblem("months", words("Choose 1, 3, 6 or 12 months.")))
    elif tier and gift_price(tier, months) is None:
        only = words("%(tier)s is given for 12 months.", tier=tier["name"])
        problems.append(FormProblem("months", only))
    try:
        email: str = gift_cards.by_name["email"].check(typed.email)
    except FieldError as error:
        problems.append(FormProblem("email", error.problem.message))
        email = ""
    day = typed.send_on
    if problem := _day_problem(request, day):
        problems.append(FormProblem("send_on", problem))
    today = _days(request)[0].isoformat()
    return Gift(typed.tier, months, email, "" if day == today else day)


def _day_problem(request: SiteRequest, day: str) -> str:
    if not day:
        return ""
    try:
        chosen = date.fromisoformat(day)
    except ValueError:
        chosen = None
    if chosen is None or chosen.isoformat() != day:
        return words("Must be a day, such as 2026-12-24.")
    first, last = _days(request)
    if chosen < first:
        return words("This day has passed. Leave it empty to send the code at once.")
    if chosen > last:
        return words("Must be %(day)s at the latest.", day=last.isoformat())
    return ""


def _days(request: SiteRequest) -> tuple[date, date]:
    """The first and the last day on which a code can be mailed, in the site's time zone."""
    today = local_time(request, clock.to_text(request.records.clock())).date()
    return today, today + timedelta(days=MAX_DAYS)


def _buyer(request: SiteRequest, order: str) -> GiftBuyer:
    url, member = site_of(request).url, request.member
    return GiftBuyer(
        tenant_id=request.tenant_id,
        tenant_slug=request.tenant.slug,
        payer=member["id"] if member else network_of(request.address),
        email=member["email"] if member else "",
        order=order,
        form_url=url + GIFT,
        paid_url=f"{url}{GIFT}?bought=1",
    )


def _shown(request: SiteRequest, found: list[Record]) -> tuple[GiftTier, ...]:
    return tuple(GiftTier(each["id"], each["name"], _prices(request, each)) for each in found)


def _prices(request: SiteRequest, tier: Record) -> tuple[GiftPrice, ...]:
    prices = [(months, gift_price(tier, months)) for months in MONTHS]
    return tuple(
        GiftPrice(months, money_text(request, amount, tier["currency"]))
        for months, amount in prices
        if amount is not None
    )


def _draw(request: SiteRequest, page: GiftPage, problems: list[FormProblem] | None = None) -> Page:
    site, [first, last] = site_of(request), _days(request)
    offered = {price.months for tier in page.tiers for price in tier.prices}
    page = replace(
        page,
        choices=tuple(each for each in MONTHS if each in offered),
        first_day=first.isoformat(),
        last_day=last.isoformat(),
        order=page.order or secrets.token_urlsafe(12),
        problems=tuple(problems or ()),
    )
    head = Head(
        title=page_title(request, words("Give a paid tier")),
        description=str(
            words("Give somebody some months as a paid member of %(site)s.", site=site.name)
        ),
    )
    return Page("gift.html", head, page, 422 if problems else 200)


def _thanks(request: SiteRequest) -> Page:
    title, name = words("Thank you for your gift"), site_of(request).name
    text = (
        words(
            "We email the code as soon as the payment service tells us of your payment; if you "
            "have chosen a later day, then on that day."
        ),
        words("If you have not paid, nothing was charged."),
    )
    links = (Link(words("To %(site)s", site=name), "/"), Link(words("Give another one"), GIFT))
    head = Head(title=f"{title} · {name}", noindex=True)
    return Page("message.html", head, MessagePage(title, text, links=links))
