"""Events of a span of time are sent to a webhook again, after a question that says how many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from masthead.base import clock, ids
from masthead.base.languages.words import counted as counted_words
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import summary
from masthead.faces.admin.moments import read_moment, typed_moment
from masthead.faces.admin.pages.webhooks.deliveries import DeliveryFilters, moment_of
from masthead.faces.admin.pages.webhooks.subscriptions import ADDRESS, check_plan
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.replays import (
    LONGEST,
    MOST,
    Replay,
    names_of,
    span_of,
    start_replay,
)

_LABELS = {"from": words("From"), "to": words("Until"), "events": words("Events")}


async def replay_form(request: AdminRequest, webhook_id: str) -> Answer:
    return await _page(request, webhook_id)


async def replay(request: AdminRequest, webhook_id: str) -> Answer:
    """The question holds the id of the replay, so that a form that is sent twice starts one."""
    check_plan(request)
    form = request.form
    record = await request.records.get(request.caller, webhook_subscriptions, webhook_id)
    since, until = (read_moment(request, name, form.get(name, "")) for name in ("from", "to"))
    names = [form["event"]] if form.get("event") else []
    span = span_of(record, since, until, names, now=request.records.clock())
    replay_id, replays = form.get("replay", ""), request.services.webhooks.replays
    is_confirmed = "confirmed" in form and ids.is_id(replay_id)
    counted = await replays.prepare(
        request.tenant_id, webhook_id, span, replay_id if is_confirmed else ""
    )
    if not is_confirmed or not counted.total:
        return await _page(request, webhook_id, counted)
    async with request.records.unit(request.caller) as unit:
        await start_replay(unit, counted, record["name"])
    said = counted_words(
        "%(count)s event is being sent again.",
        "%(count)s events are being sent again.",
        counted.total,
        count=number(counted.total),
    )
    return Redirect(DeliveryFilters(webhook=webhook_id).url(), said)


async def _page(request: AdminRequest, webhook_id: str, counted: Replay | None = None) -> Page:
    record = await request.records.get(request.caller, webhook_subscriptions, webhook_id)
    now, form = request.records.clock(), request.form
    usual = {
        "from": typed_moment(request, clock.to_text(now - timedelta(days=1))),
        "to": typed_moment(request, clock.to_text(now + timedelta(minutes=1))),
    }
    zone = str(request.time_zone)
    values: dict[str, Any] = {
        "webhook": record,
        "is_off": bool(record["disabled_at"]),
        "action": f"{ADDRESS}/{webhook_id}/replay",
        "back": f"{ADDRESS}/{webhook_id}",
        "moments": {
            name: {"name": name, "value": form.get(name, value), "zone": zone}
            for name, value in usual.items()
        },
        "names": names_of(record["events"]),
        "chosen": form.get("event", ""),
        "days": LONGEST.days,
        "most": MOST,
        "counted": counted,
        "span": [moment_of(request, counted.span.since), moment_of(request, counted.span.until)]
        if counted
        else [],
        "problems": summary(request, _LABELS),
    }
    return Page("webhooks/replay.html", words("Send events again"), values)
