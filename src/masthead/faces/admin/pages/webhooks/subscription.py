"""One webhook: made, edited, paused, turned on, tested, given a new secret, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.errors import Invalid
from masthead.base.languages.formats import listed
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import counted, words
from masthead.engine.events.catalog import CATALOG, Category, EventKind
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form, problem_of
from masthead.faces.admin.pages.webhooks.deliveries import DELIVERIES, DeliveryFilters, moment_of
from masthead.faces.admin.pages.webhooks.filter_trial import Trial, try_filter
from masthead.faces.admin.pages.webhooks.subscriptions import (
    ADDRESS,
    OFFERED,
    PLAN_NEEDED,
    check_plan,
    items_of,
    last_tests,
    shown,
)
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.actions import (
    ENABLED,
    check_url,
    fire_test,
    paused,
    replace_secret,
    subscribe,
)
from masthead.features.webhooks.collection import ALL_EVENTS, webhook_subscriptions
from masthead.features.webhooks.sending import body_of

NEW = f"{ADDRESS}/new"
OVERLAPS = {
    "0": words("At once"),
    "1": words("After an hour"),
    "24": words("After a day"),
    "72": words("After 3 days"),
    "168": words("After a week"),
}
"""When the old secret stops working: the hours and their words."""
_TRIED = "webhooks/_tried.html"
_EXAMPLE_TIME = "2026-11-14T09:30:00.123Z"


class Event(msgspec.Struct, frozen=True):
    name: str
    trigger: str
    example: str
    """The body that arrives, as JSON."""
    is_chosen: bool


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
                f"{ADDRESS}/{webhook_id}",
                words("This webhook already exists. Its secret was shown once."),
            )
        given["id"] = webhook_id
    try:
        await check_url(request.services.outbound, given)
        async with request.records.unit(request.caller) as unit:
            record, secret = await subscribe(unit, given)
    except Invalid as error:
        raise Invalid(error.problems or {"name": problem_of(error)}) from error
    return await _page(request, record, secret=secret)


async def webhook_page(request: AdminRequest, webhook_id: str) -> Answer:
    return await _page(request, await _get(request, webhook_id))


async def save_webhook(request: AdminRequest, webhook_id: str) -> Answer:
    removes = request.form.get("remove") == "headers"
    given = {"headers": None} if removes else _given(request)
    await request.records.update(request.caller, webhook_subscriptions, webhook_id, given)
    return Redirect(f"{ADDRESS}/{webhook_id}", words("Saved. The next delivery uses it."))


async def pause(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    await _stamp(request, webhook_id, paused(record, request.records.clock()))
    return Redirect(
        f"{ADDRESS}/{webhook_id}",
        words("Paused. Pending deliveries will be dropped within a minute."),
    )


async def turn_on(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    await _stamp(request, webhook_id, ENABLED)
    return Redirect(ADDRESS, words("%(name)s is on and gets events again.", name=record["name"]))


async def rotate(request: AdminRequest, webhook_id: str) -> Answer:
    await _get(request, webhook_id)
    overlap = request.form.get("overlap", "0")
    hours = int(overlap) if overlap in OVERLAPS else 0
    async with request.records.unit(request.caller) as unit:
        record, secret = await replace_secret(request.records, unit, webhook_id, hours)
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
    return Page("webhooks/delete.html", words("Delete %(name)s?", name=record["name"]), values)


async def delete(request: AdminRequest, webhook_id: str) -> Answer:
    record = await request.records.delete(request.caller, webhook_subscriptions, webhook_id)
    return Redirect(
        ADDRESS, words("%(name)s is deleted. Its deliveries stay in the log.", name=record["name"])
    )


async def _get(request: AdminRequest, webhook_id: str) -> Record:
    return await request.records.get(request.caller, webhook_subscriptions, webhook_id)


async def _stamp(request: AdminRequest, webhook_id: str, stamped: Mapping[str, Any]) -> Record:
    return await request.records.update(
        request.caller, webhook_subscriptions, webhook_id, {}, stamped=stamped
    )


def _form(chosen: list[str], headers: Sequence[str] = ()) -> Form:
    """An event that is no longer offered stays while it is chosen."""
    names = dict.fromkeys((ALL_EVENTS, *OFFERED, *chosen))
    asks = (
        Ask(
            "name",
            words("Name"),
            words("Only you see it. For example, the program that receives the events."),
        ),
        Ask(
            "url",
            words("Address"),
            words("An https:// address on a public host. Every event is sent there as a POST."),
        ),
        Ask(
            "events",
            words("Events"),
            words("Those that are sent. All of them includes later ones."),
            choices={name: name for name in names},
        ),
        Ask(
            "filter",
            words("Filter"),
            words(
                "Only events that match are sent. It compares event and data.…, as in "
                "data.title ~ 'harbour' && data.email_only != true. Without one, all of them are."
            ),
            rows=2,
        ),
        Ask(
            "per_minute",
            words("Deliveries in a minute"),
            words("At most so many, from 1 to 6,000; what comes faster waits. Empty for no limit."),
        ),
        Ask("headers", words("Headers"), _about_headers(headers), rows=3),
    )
    return Form(webhook_subscriptions, asks)


def _about_headers(names: Sequence[str]) -> str:
    if not names:
        return words(
            "Sent with every delivery, one in each line, such as Authorization: Bearer 7f3k. "
            "Their values are stored encrypted and not shown again."
        )
    return counted(
        "%(names)s is set. Lines that you write here replace all of them.",
        "%(names)s are set. Lines that you write here replace all of them.",
        len(names),
        names=listed(names),
    )


def _given(request: AdminRequest) -> dict[str, Any]:
    return _form(_chosen(request)).given(request)


def _chosen(request: AdminRequest) -> list[str]:
    names = (ALL_EVENTS, *(kind.name for kind in CATALOG))
    return [name for name in names if f"events.{name}" in request.form]


async def try_new(request: AdminRequest) -> Answer:
    """The form with what was typed, and what its filter would have let through."""
    return _new_page(request, await _try(request))


async def try_saved(request: AdminRequest, webhook_id: str) -> Answer:
    record = await _get(request, webhook_id)
    return await _page(request, record, trial=await _try(request))


async def _try(request: AdminRequest) -> Trial:
    return await try_filter(request, _chosen(request), request.form.get("filter", ""))


async def new_form(request: AdminRequest) -> Answer:
    return _new_page(request)


def _new_page(request: AdminRequest, trial: Trial | None = None) -> Page:
    sent_id = request.form.get("id", "")
    values = {
        **_values(request, trial=trial),
        "id": sent_id if ids.is_id(sent_id) else ids.new_id(),
        "plan_needed": "" if request.tenant.plan.has_api else PLAN_NEEDED,
        "back": ADDRESS,
    }
    return Page("webhooks/new.html", words("New webhook"), values, fragment=_TRIED)


async def _page(
    request: AdminRequest, record: Record, *, secret: str = "", trial: Trial | None = None
) -> Page:
    tests = await last_tests(request, [record])
    values = {
        **_values(request, record, trial),
        "webhook": shown(request, record, tests.get(record["id"])),
        "secret": secret,
        "overlaps": OVERLAPS,
        "old_until": _old_until(request, record),
        "deliveries": DeliveryFilters(webhook=record["id"]).url(),
        "has_plan": request.tenant.plan.has_api,
        "back": ADDRESS,
    }
    return Page("webhooks/edit.html", record["name"], values, fragment=_TRIED)


def _old_until(request: AdminRequest, record: Record) -> str:
    """In words, while the previous secret signs, too."""
    until = record["previous_secret_until"]
    is_over = until <= clock.to_text(request.records.clock())
    return "" if is_over else moment_of(request, until)


def _values(
    request: AdminRequest, record: Record | None = None, trial: Trial | None = None
) -> dict[str, Any]:
    chosen = items_of(record, "events") if record else []
    names = items_of(record, "header_names") if record else []
    form = _form(chosen, names).values(request, record, keeps_typed=trial is not None)
    choices = form["fields"]["events"].choices
    ticked = {each.value for each in choices if each.is_chosen}
    offered = {each.value for each in choices}
    return {
        **form,
        "trial": trial,
        "has_all": ALL_EVENTS in ticked,
        "has_headers": bool(names),
        "categories": {
            retold(str(category)): [
                _event(kind, ticked) for kind in CATALOG if _is_in(kind, category, offered)
            ]
            for category in Category
        },
    }


def _is_in(kind: EventKind, category: Category, offered: set[str]) -> bool:
    return kind.category is category and kind.name in offered


def _event(kind: EventKind, chosen: set[str]) -> Event:
    payload = msgspec.json.encode(kind.example).decode()
    body = body_of(kind.name, _EXAMPLE_TIME, payload).decode()
    # The catalog is written for documentation, where backticks mark code.
    return Event(kind.name, retold(kind.trigger).replace("`", ""), body, kind.name in chosen)
