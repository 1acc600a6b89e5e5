"""Payments: the processor's secrets, the address for its events, what came in, and what the nightly
check has found."""

from __future__ import annotations

from masthead.base.errors import BadRequest
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import PAYMENTS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.payments.handlers import HANDLERS
from masthead.features.site.address import site_url
from masthead.features.site.collection import site_settings

EVENTS = 20
_PAGES = {"members": "/admin/members", "orders": "/admin/shop/orders"}
_FORM = Form(
    site_settings,
    (
        Ask(
            "member_payment_webhook_secret",
            words("Signing secret"),
            words(
                "The signing secret of the processor's webhook, such as whsec_…. It proves that an "
                "event comes from the processor."
            ),
        ),
        Ask(
            "member_payment_secret_key",
            words("Secret key"),
            words(
                "A key such as sk_live_…. It opens checkouts and the customer "
                "portal. With a live key, "
                "test events are ignored."
            ),
        ),
    ),
)
_KINDS = {
    "members": words("Members whose tier does not match their subscription"),
    "orders": words("Orders marked as paid without a payment, or still waiting for one"),
    "subscriptions": words("Paid subscriptions without a member"),
    "events": words("Events from the last week that were not applied"),
}


async def save_payments(request: AdminRequest) -> Answer:
    given = _FORM.given(request)
    removed = request.form.get("remove", "")
    if removed:
        if removed not in {ask.name for ask in _FORM.asks}:
            raise BadRequest(words("There is no such secret."))
        given = {removed: ""}
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    if not given:
        return Redirect(PAYMENTS, words("Both fields were empty, so nothing has changed."))
    return Redirect(
        PAYMENTS, words("Removed.") if removed else words("Saved. A secret is not shown again.")
    )


async def payments_page(request: AdminRequest) -> Answer:
    events = await request.services.payments.inbox.latest(request.tenant_id, EVENTS)
    report = await request.tools.payment_reports.of(request.tenant_id)
    refused = await request.services.payments.inbox.last_refusal(request.tenant_id)
    is_wrong = bool(refused) and (not events or refused > events[0].received)
    kinds = report[1].kinds() if report else {}
    origin = site_url(request.services.settings, request.tenant.slug)
    values = {
        **_FORM.values(request, request.site_record),
        "address": PAYMENTS,
        "receiver": f"{origin}/api/member-webhook/{request.tenant.slug}",
        "types": sorted(HANDLERS),
        "events": events,
        "refused": refused if is_wrong else "",
        "checked": report[0] if report else "",
        "kinds": _KINDS,
        "pages": _PAGES,
        "found": {name: kind for name, kind in kinds.items() if kind.count},
    }
    return in_settings(request, "payments.html", words("Payments"), values)
