"""Payments: the processor's secrets, the address for its events, what came in, and what the nightly
check has found."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from masthead.base.errors import BadRequest, Invalid, Problem
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, given_values, widgets
from masthead.faces.admin.pages.settings.subnav import PAYMENTS, in_settings, said
from masthead.faces.admin.request import AdminRequest
from masthead.features.payments.handlers import HANDLERS
from masthead.features.payments.reconcile import Finding, Report
from masthead.features.site.address import site_url
from masthead.features.site.collection import site_settings

EVENTS = 20
_PAGES = {"members": "/admin/members", "orders": "/admin/shop/orders"}
_ASKS = (
    Ask(
        "member_payment_webhook_secret",
        "Signing secret",
        "The signing secret of the processor's webhook, such as whsec_…. It proves that an event "
        "comes from the processor.",
    ),
    Ask(
        "member_payment_secret_key",
        "Secret key",
        "A key such as sk_live_…. It opens checkouts and the customer portal. With a live key, "
        "test events are ignored.",
    ),
)
_KINDS = {
    "members": "Members whose tier does not match their subscription",
    "orders": "Orders marked as paid without a payment, or still waiting for one",
    "subscriptions": "Paid subscriptions without a member",
    "events": "Events from the last week that were not applied",
}


class Received(msgspec.Struct, frozen=True):
    id: str
    type: str
    at: str
    note: str
    """Why it was not applied; empty where it was."""


class FoundOne(msgspec.Struct, frozen=True):
    id: str
    why: str
    url: str
    """The address of the record's page, if it has one."""


class Found(msgspec.Struct, frozen=True):
    what: str
    count: int
    first: list[FoundOne]


async def payments_page(request: AdminRequest) -> Answer:
    return await _page(request)


async def save_payments(request: AdminRequest) -> Answer:
    given = given_values(request.caller, site_settings, _ASKS, request.form)
    removed = request.form.get("remove", "")
    if removed:
        if removed not in {ask.name for ask in _ASKS}:
            raise BadRequest("There is no such secret.")
        given = {removed: ""}
    try:
        await request.records.update(
            request.caller, site_settings, request.site_record["id"], given
        )
    except Invalid as error:
        return await _page(request, error.problems)
    if not given:
        return Redirect(PAYMENTS, "Both fields were empty, so nothing has changed.")
    return Redirect(PAYMENTS, "Removed." if removed else "Saved. A secret is not shown again.")


async def _page(request: AdminRequest, problems: Mapping[str, Problem] | None = None) -> Page:
    events = await request.services.payment_inbox.latest(request.tenant_id, EVENTS)
    report = await request.tools.payment_reports.of(request.tenant_id)
    refused = await request.services.payment_inbox.last_refusal(request.tenant_id)
    is_wrong = bool(refused) and (not events or refused > events[0].received)
    typed = request.form if problems else None
    origin = site_url(request.services.settings, request.tenant.slug)
    values = {
        "fields": widgets(
            request.caller,
            site_settings,
            _ASKS,
            request.site_record,
            typed=typed,
            problems=problems,
        ),
        "problems": said(problems, _ASKS),
        "address": PAYMENTS,
        "receiver": f"{origin}/api/member-webhook/{request.tenant.slug}",
        "types": sorted(HANDLERS),
        "events": [
            Received(each.id, each.type, request.when(each.received), each.note) for each in events
        ],
        "refused": request.when(refused) if is_wrong else "",
        "checked": request.when(report[0]) if report else "",
        "found": _found(report[1]) if report else [],
    }
    return in_settings(
        request, "payments.html", "Payments", values, status=422 if problems else 200
    )


def _found(report: Report) -> list[Found]:
    return [
        Found(_KINDS[name], kind.count, [_found_one(name, each) for each in kind.first])
        for name, kind in report.kinds().items()
        if kind.count
    ]


def _found_one(kind: str, found: Finding) -> FoundOne:
    url = f"{_PAGES[kind]}/{found.id}" if kind in _PAGES else ""
    return FoundOne(found.id, found.why, url)
