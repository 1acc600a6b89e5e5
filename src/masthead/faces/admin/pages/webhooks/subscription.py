"""One webhook: made, edited, paused, turned on, tested, given a new secret, deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base import ids
from masthead.base.errors import Invalid, Problem
from masthead.engine.events.catalog import CATALOG, Category, EventKind
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, given_values, widgets
from masthead.faces.admin.pages.settings.subnav import said
from masthead.faces.admin.pages.webhooks.deliveries import DELIVERIES, DeliveryFilters
from masthead.faces.admin.pages.webhooks.subscriptions import (
    ADDRESS,
    OFFERED,
    PLAN_NEEDED,
    check_plan,
    events_of,
    last_tests,
    shown,
)
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.actions import ENABLED, check_url, fire_test, paused, subscribe
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.sending import body_of
from masthead.features.webhooks.signing import new_secret

NEW = f"{ADDRESS}/new"
_EXAMPLE_TIME = "2026-11-14T09:30:00.123Z"


class Event(msgspec.Struct, frozen=True):
    name: str
    trigger: str
    example: str
    """The body that arrives, as JSON."""
    is_chosen: bool


async def new_form(request: AdminRequest) -> Answer:
    return _new_page(request)


async def new_webhook(request: AdminRequest) -> Answer:
    """Answered with a page instead of a redirect: the secret must not be stored anywhere, neither
    in an address nor in a cookie. The form holds the id, so that sending it again makes no
    second one."""
    check_plan(request)
    given = _given(request)
    webhook_id = request.form.get("id", "")
    if ids.is_id(webhook_id):
        if await request.records.find(
            webhook_subscriptions, {"id": webhook_id}, tenant_id=request.tenant_id
        ):
            return Redirect(
                f"{ADDRESS}/{webhook_id}", "This webhook already exists. Its secret was shown once."
            )
        given["id"] = webhook_id
    try:
        await check_url(request.services.outbound, given)
        async with request.records.unit(request.caller) as unit:
            record, secret = await subscribe(unit, given)
    except Invalid as error:
        return _new_page(request, error)
    return await _page(request, record, secret=secret)


async def webhook_page(request: AdminRequest, webhook_id: str) -> Answer:
    return await _page(request, await _get(request, webhook_id))


async def save_webhook(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    try:
        await request.records.update(
            request.caller, webhook_subscriptions, webhook_id, _given(request)
        )
    except Invalid as error:
        return await _page(request, record, error=error)
    return Redirect(f"{ADDRESS}/{webhook_id}", "Saved. The next delivery uses it.")


async def pause(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    await _stamp(request, webhook_id, paused(record, request.records.clock()))
    return Redirect(
        f"{ADDRESS}/{webhook_id}", "Paused. Pending deliveries will be dropped within a minute."
    )


async def turn_on(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    await _stamp(request, webhook_id, ENABLED)
    return Redirect(ADDRESS, f"{record['name']} is on and gets events again.")


async def rotate(request: AdminRequest, webhook_id: str) -> Answer:
    await _get(request, webhook_id)
    secret = new_secret()
    record = await _stamp(request, webhook_id, {"secret": secret})
    return await _page(request, record, secret=secret)


async def test(request: AdminRequest, webhook_id: str) -> Answer:
    """Leads to the delivery, which shows the request and the answer."""
    check_plan(request)
    await _get(request, webhook_id)
    # With its secret, which only the engine reads.
    [record] = await request.records.find(
        webhook_subscriptions, {"id": webhook_id}, tenant_id=request.tenant_id
    )
    tested = await fire_test(request.records, request.services.outbound, record, request.caller)
    return Redirect(f"{DELIVERIES}/{tested.delivery_id}")


async def delete_form(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    values = {"webhook": record, "back": f"{ADDRESS}/{webhook_id}"}
    return Page("webhooks/delete.html", f"Delete {record['name']}?", values)


async def delete(request: AdminRequest, webhook_id: str) -> Answer:
    record = await request.records.delete(request.caller, webhook_subscriptions, webhook_id)
    return Redirect(ADDRESS, f"{record['name']} is deleted. Its deliveries stay in the log.")


async def _get(request: AdminRequest, webhook_id: str) -> Record:
    return await request.records.get(request.caller, webhook_subscriptions, webhook_id)


async def _stamp(request: AdminRequest, webhook_id: str, stamped: Mapping[str, Any]) -> Record:
    return await request.records.update(
        request.caller, webhook_subscriptions, webhook_id, {}, stamped=stamped
    )


def _asks(chosen: list[str]) -> tuple[Ask, ...]:
    """An event that is no longer offered stays while it is chosen."""
    names = dict.fromkeys((*OFFERED, *chosen))
    return (
        Ask("name", "Name", "Only you see it. For example, the program that receives the events."),
        Ask(
            "url",
            "Address",
            "An https:// address on a public host. Every event is sent there as a POST.",
        ),
        Ask("events", "Events", choices={name: name for name in names}),
    )


def _given(request: AdminRequest) -> dict[str, Any]:
    asks = _asks([name for name in _known() if f"events.{name}" in request.form])
    return given_values(request.caller, webhook_subscriptions, asks, request.form)


def _known() -> list[str]:
    return [kind.name for kind in CATALOG]


def _new_page(request: AdminRequest, error: Invalid | None = None) -> Answer:
    empty = {each.name: each.default_value() for each in webhook_subscriptions.fields}
    sent_id = request.form.get("id", "")
    values = {
        **_form(request, empty, error),
        "id": sent_id if ids.is_id(sent_id) else ids.new_id(),
        "plan_needed": "" if request.tenant.plan.has_api else PLAN_NEEDED,
        "back": ADDRESS,
    }
    return Page("webhooks/new.html", "New webhook", values, status=422 if error else 200)


async def _page(
    request: AdminRequest, record: Record, *, secret: str = "", error: Invalid | None = None
) -> Answer:
    tests = await last_tests(request, [record])
    values = {
        **_form(request, record, error),
        "webhook": shown(request, record, tests.get(record["id"])),
        "secret": secret,
        "deliveries": DeliveryFilters(webhook=record["id"]).url(),
        "has_plan": request.tenant.plan.has_api,
        "back": ADDRESS,
    }
    return Page("webhooks/edit.html", record["name"], values, status=422 if error else 200)


def _form(request: AdminRequest, record: Record, error: Invalid | None) -> dict[str, Any]:
    typed = request.form if error else None
    problems: Mapping[str, Problem] = error.problems if error else {}
    asks = _asks(events_of(record))
    fields = widgets(
        request.caller, webhook_subscriptions, asks, record, typed=typed, problems=problems
    )
    chosen = {each.value for each in fields["events"].choices if each.is_chosen}
    offered = {each.value for each in fields["events"].choices}
    return {
        "fields": fields,
        "categories": {
            category: [_event(kind, chosen) for kind in CATALOG if _is_in(kind, category, offered)]
            for category in Category
        },
        "problems": said(problems, asks),
        "problem": str(error) if error and not problems else "",
    }


def _is_in(kind: EventKind, category: Category, offered: set[str]) -> bool:
    return kind.category is category and kind.name in offered


def _event(kind: EventKind, chosen: set[str]) -> Event:
    payload = msgspec.json.encode(kind.example).decode()
    body = body_of(kind.name, _EXAMPLE_TIME, payload).decode()
    # The catalog is written for documentation, where backticks mark code.
    return Event(kind.name, kind.trigger.replace("`", ""), body, kind.name in chosen)
