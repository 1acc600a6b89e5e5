"""The page on which a member redeems the code of a gift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.member.sessions import ACCOUNT, SIGN_IN
from masthead.faces.reader.member_views import FormProblem, RedeemPage
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import page_title
from masthead.faces.reader.tiers import has_payment_key
from masthead.faces.reader.views import Head
from masthead.features.payments.gift_mails import REDEEM
from masthead.features.payments.redemption import Refusal, admit, redeem

MAX_CODE = 100


class _RefusalText(NamedTuple):
    status: int
    sentence: str


_TOLD: Mapping[Refusal, _RefusalText] = {
    Refusal.UNKNOWN: _RefusalText(404, words("There is no such code. Compare it with the email.")),
    Refusal.YOURS: _RefusalText(
        410,
        words("You have redeemed this code. Your account says until when you are a paid member."),
    ),
    Refusal.USED: _RefusalText(410, words("This code was redeemed before. Each code works once.")),
    Refusal.VOID: _RefusalText(
        410, words("The payment for this gift was refunded, so its code is void.")
    ),
    Refusal.SUBSCRIBED: _RefusalText(
        409,
        words(
            "You pay for a tier that goes on. Keep the code: it works when that has ended, or for "
            "somebody else."
        ),
    ),
    Refusal.ENDLESS: _RefusalText(
        409,
        words(
            "Your paid tier has no end that a gift could move. Keep the code, or give it to "
            "somebody else."
        ),
    ),
}


async def redeem_page(request: SiteRequest) -> Page:
    _check_sold(request)
    return _draw(request, RedeemPage(request.query.get("code", "")[:MAX_CODE]))


async def redeem_code(request: SiteRequest, form: Form) -> Page | Redirect:
    _check_sold(request)
    code, member = form.get("code", "").strip()[:MAX_CODE], request.member
    if member is None:
        back = f"{REDEEM}?{urlencode({'code': code})}" if code else REDEEM
        return see_other(f"{SIGN_IN}?back={quote(back)}")
    if not code:
        return _refused(request, code, _RefusalText(422, words("Type the code from the email.")))
    tenant_id = request.tenant_id
    await admit(request.services.windows, tenant_id, member["id"], request.address)
    async with request.records.unit(system(tenant_id)) as unit:
        outcome = await redeem(unit, member["id"], code)
    if isinstance(outcome, Refusal):
        return _refused(request, code, _TOLD[outcome])
    return see_other(f"{ACCOUNT}?done=gift")


def _check_sold(request: SiteRequest) -> None:
    """Not whether a tier is on sale now: a code that was paid stays good."""
    if not has_payment_key(request) or not request.site_record["members_enabled"]:
        raise NotFound(words("This site has no gifts to redeem."))


def _refused(request: SiteRequest, code: str, told: _RefusalText) -> Page:
    page = RedeemPage(code, (FormProblem("code", told.sentence),))
    return _draw(request, page, told.status)


def _draw(request: SiteRequest, page: RedeemPage, status: int = 200) -> Page:
    head = Head(title=page_title(request, words("Redeem a gift")), noindex=True)
    return Page("redeem.html", head, page, status)
