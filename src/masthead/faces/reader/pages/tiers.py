"""The page of paid tiers with their prices, and the ways to the payment and to the customer
portal."""

from __future__ import annotations

from urllib.parse import urlsplit

from masthead.base import ids
from masthead.base.caller import Audience, system
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.member.back import back_path
from masthead.faces.reader.member_views import LeavingPage, TiersPage
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import page_title, site_of
from masthead.faces.reader.tiers import (
    CHECKOUT,
    has_payment_key,
    payment_key,
    shown_tier,
    tiers_on_sale,
)
from masthead.faces.reader.views import ErrorPage, Head
from masthead.features.members.collection import blog_members, reader_of_member
from masthead.features.members.convincing import convincing_post, slug_of_post
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.payments.checkout import Buyer, is_on_sale
from masthead.features.payments.processor import ProcessorError

TIERS, ACCOUNT = "/member/tiers", "/member/account"
SIGN_IN = f"/member/sign-in?back={TIERS}"


async def tiers(request: SiteRequest) -> Page:
    found = await tiers_on_sale(request)
    if not found:
        raise NotFound(words("This site has no paid tiers."))
    site = site_of(request)
    head = Head(
        title=page_title(request, words("Become a paid member")),
        description=str(
            words("What the paid tiers of %(site)s cost, and what you get.", site=site.name)
        ),
    )
    way_back = back_path(request.query.get("back", ""))
    page = TiersPage(
        tuple(shown_tier(request, each) for each in found),
        way_back if slug_of_post(way_back) else "",
        sells_gifts=has_payment_key(request),
    )
    return Page("tiers.html", head, page)


async def old_address(_: SiteRequest) -> Redirect:
    return Redirect(TIERS)


async def upgrade(request: SiteRequest, form: Form) -> Page | Redirect:
    """Sends a member to the payment of the chosen tier."""
    member = request.member
    if member is None:
        return see_other(SIGN_IN)
    # A second subscription would be paid on top of the first one.
    if reader_of_member(member).audience >= Audience.PAID:
        return see_other(ACCOUNT)
    tier = await _read_chosen(request, form.get("tier", ""))
    member = await remember_post(request, member, back_path(form.get("back", "")))
    try:
        url = await request.services.payments.checkouts.checkout_url(
            buyer_of(request, member), tier
        )
    except ProcessorError as error:
        return failed_page(request, error)
    return payment_page(request, url)


async def remember_post(request: SiteRequest, member: MemberRecord, way_back: str) -> MemberRecord:
    """The post that convinced them, if there is one, until the payment is there."""
    if not slug_of_post(way_back) and not member["paid_from"]:
        return member
    async with request.records.unit(system(request.tenant_id)) as unit:
        stamped = {"paid_from": await convincing_post(unit, way_back)}
        if stamped["paid_from"] == member["paid_from"]:
            return member
        return as_member(await unit.update(blog_members, member["id"], {}, stamped=stamped))


async def billing(request: SiteRequest, _form: Form) -> Page | Redirect:
    """Sends a member to the portal for cards, invoices and the end of the subscription."""
    member = request.member
    if member is None:
        return see_other(SIGN_IN)
    if not member["payment_customer_id"] or not has_payment_key(request):
        return see_other(ACCOUNT)
    try:
        url = await request.services.payments.checkouts.portal_url(buyer_of(request, member))
    except ProcessorError as error:
        return failed_page(request, error)
    return _leaving(
        request,
        url,
        words("Continue to your payments"),
        words(
            "It takes place at %(host)s. Change your card, see invoices or cancel there.",
            host=_host(url),
        ),
    )


async def _read_chosen(request: SiteRequest, tier_id: str) -> Record:
    found = await tiers_on_sale(request) if ids.is_id(tier_id) else []
    for tier in found:
        if tier["id"] == tier_id and is_on_sale(tier, has_key=has_payment_key(request)):
            return tier
    raise NotFound(words("This tier is no longer sold."))


def buyer_of(request: SiteRequest, member: MemberRecord, cancelled: str = TIERS) -> Buyer:
    """`cancelled`: the path to which the processor sends those who do not pay."""
    url = site_of(request).url
    return Buyer(
        tenant_id=request.tenant_id,
        tenant_slug=request.tenant.slug,
        member=member,
        key=payment_key(request),
        cancel_url=url + cancelled,
        account_url=url + ACCOUNT,
        paid_url=f"{url}{ACCOUNT}?{CHECKOUT}=1",
    )


def payment_page(request: SiteRequest, url: str) -> Page:
    return _leaving(
        request,
        url,
        words("Continue to the payment"),
        words(
            "It takes place at %(host)s. You are charged only after you confirm it there.",
            host=_host(url),
        ),
    )


def _leaving(request: SiteRequest, url: str, title: str, text: str) -> Page:
    """A page that leads there, because the policy of our pages lets no form redirect to another
    site, and which site it is isn't known before."""
    host = _host(url)
    page = LeavingPage(
        title,
        text,
        words("Go to %(host)s", host=host),
        url,
    )
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Page("leaving.html", head, page)


def _host(url: str) -> str:
    return urlsplit(url).netloc


def failed_page(request: SiteRequest, error: ProcessorError) -> Page:
    title = words("The payment service did not answer")
    text = words("Nothing was charged. Try again in a moment.")
    if not error.is_temporary:
        title = words("The payment could not be started")
        text = words(
            "The payment service refused the request of %(site)s. Nothing was charged. Try again "
            "later, or tell the people who run the site.",
            site=site_of(request).name,
        )
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Page("error.html", head, ErrorPage(502, title, text), 502)
