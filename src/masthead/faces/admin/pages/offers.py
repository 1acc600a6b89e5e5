"""Offers in the shop: codes with which readers pay less for a tier, or try it first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masthead.base import clock
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.moments import read_moment, typed_moment
from masthead.faces.admin.pages.shop import TIERS, ShopList
from masthead.faces.admin.request import AdminRequest
from masthead.features.payments.collection import tiers
from masthead.features.payments.offers import OfferState, offer_state, offers

ENDS = "ends_at"
MOST_TIERS = 100
STATES = {
    OfferState.OPEN: ("good", words("Open")),
    OfferState.INACTIVE: ("draft", words("Switched off")),
    OfferState.ENDED: ("draft", words("Ended")),
    OfferState.USED_UP: ("draft", words("Used up")),
}
"""The kind of badge, and its words."""
_KINDS = {
    "percent": words("Percent off"),
    "amount": words("Amount off"),
    "trial_days": words("Free trial"),
}


class OfferList(ShopList, frozen=True):
    address = "/admin/shop/offers"
    title = words("Offers")
    about = words("Readers open an offer at its address and take it there. The site links to none.")
    new = words("New offer")
    collection = offers
    template = "shop/_offers.html"
    empty = (
        words("No offers yet"),
        words(
            "Give readers a discount on a tier, or let them try it. Each "
            "offer has an address to send."
        ),
    )

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        chosen = sorted({str(each["tier"]) for each in items})
        found = await request.records.find_related(
            request.caller, tiers, "id", chosen, limit=len(chosen) or 1
        )
        now = clock.to_text(request.records.clock())
        return {
            **await super().values(request, items),
            "tiers": {each["id"]: each for each in found},
            "badges": {each["id"]: STATES[offer_state(each, now)] for each in items},
        }


async def new_offer(request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, offers)
    if not await _tiers(request):
        return Redirect(
            f"{TIERS.page.address}/new", words("An offer is for a tier: create one first.")
        )
    return await _page(request)


async def create_offer(request: AdminRequest) -> Answer:
    made = await request.records.create(request.caller, offers, await _given(request))
    return Redirect(
        f"{OfferList.address}/{made['id']}",
        words("The offer %(code)s is created.", code=made["code"]),
    )


async def offer_form(request: AdminRequest, offer_id: str) -> Answer:
    return await _page(request, await request.records.get(request.caller, offers, offer_id))


async def save_offer(request: AdminRequest, offer_id: str) -> Answer:
    stored = await request.records.get(request.caller, offers, offer_id)
    given = await _given(request, stored)
    saved = await request.records.update(request.caller, offers, offer_id, given)
    return Redirect(OfferList.address, words("The offer %(code)s is saved.", code=saved["code"]))


async def _given(request: AdminRequest, stored: Record | None = None) -> dict[str, Any]:
    given = _form(await _tiers(request)).given(request)
    typed = request.form.get(ENDS, "").strip()
    # The field has no seconds: one that was not touched leaves the stored time.
    if stored is None or typed != typed_moment(request, stored[ENDS]):
        given[ENDS] = read_moment(request, ENDS, typed) if typed else ""
    return given


async def _tiers(request: AdminRequest) -> list[Record]:
    return await request.first(tiers, MOST_TIERS, sort="position,created")


def _form(found: Sequence[Record]) -> Form:
    return Form(
        offers,
        (
            Ask(
                "code",
                words("Code"),
                words("The last part of its address."),
                prefix="/member/offer/",
            ),
            Ask(
                "tier",
                words("Tier"),
                words("Readers can take the offer while the tier is for sale."),
                choices={each["id"]: each["name"] for each in found},
            ),
            Ask(
                "kind",
                words("Readers get"),
                words("A discount in percent, a discount as an amount, or days to try the tier."),
                choices=_KINDS,
            ),
            Ask(
                "value",
                words("How much"),
                words(
                    "Percent; or an amount in the currency’s smallest unit, 250 for 2.50; or days."
                ),
            ),
            Ask(
                "months",
                words("Months of the discount"),
                words(
                    "0 for every payment. On a yearly tier, 12 are the first "
                    "payment. A trial has 0."
                ),
            ),
            Ask("max_uses", words("Number of uses"), words("0 for no limit.")),
            Ask(
                "active",
                words("Readers can open it"),
                words("Otherwise there is nothing at its address."),
            ),
        ),
    )


async def _page(request: AdminRequest, offer: Record | None = None) -> Page:
    title = str(offer["code"]) if offer else words("New offer")
    form = _form(await _tiers(request))
    ends = typed_moment(request, offer[ENDS]) if offer else ""
    values = {
        **form.values(request, offer, labels={ENDS: words("End")}),
        "ends": {
            "name": ENDS,
            "value": request.form.get(ENDS, ends),
            "zone": str(request.time_zone),
        },
        "offer": offer,
        "badge": STATES[offer_state(offer, clock.to_text(request.records.clock()))]
        if offer
        else None,
        "url": f"{request.site_url}/member/offer/{offer['code']}" if offer else "",
        "list": OfferList,
        "action": f"{OfferList.address}/{offer['id'] if offer else 'new'}",
    }
    return Page("shop/offer.html", title, values)
