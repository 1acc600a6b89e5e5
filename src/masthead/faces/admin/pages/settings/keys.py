"""API keys: made, shown once, watched and revoked; and what the plan allows them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

import msgspec

from masthead.base import clock
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Record
from masthead.engine.records.derived.daily_counts import ByDay, day_of
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.charts import DAYS, Chart, bar_chart, last_days
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.environment import day, number
from masthead.faces.admin.forms import Ask, Form, WidgetChoice
from masthead.faces.admin.lists import Filters, Listing, read_page
from masthead.faces.admin.pages.settings.subnav import KEYS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.identity.api_keys import api_keys, create_key, revoke_key
from masthead.identity.call_counts import API_CALLS
from masthead.identity.limits.sliding_window import limits_of
from masthead.identity.scopes import SCOPES, granted

IN_USE = "revoked_at = '' && (expires_at = '' || expires_at > @now)"
ENDED = "revoked_at != '' || (expires_at != '' && expires_at <= @now)"
EXPIRIES = {
    "": words("Never"),
    "30": words("In 30 days"),
    "90": words("In 90 days"),
    "365": words("In a year"),
}
"""Days to their words."""
_FORM = Form(api_keys, (Ask("name", words("Name"), words("Where it is used.")),))
_decode_names = msgspec.json.Decoder(list[str]).decode


class KeyFilters(Filters, frozen=True):
    address: ClassVar[str] = KEYS
    choices = (("show", ("ended",)),)

    show: str = ""

    def listing(self) -> Listing:
        which = ENDED if self.show else IN_USE
        wanted = ListRequest(filter=which, sort="-created", skip_total=True)
        return Listing(api_keys, wanted, self.url)


async def new_key(request: AdminRequest) -> Answer:
    """Answered with a page instead of a redirect: the key must not be stored anywhere, neither in
    an address nor in a cookie."""
    form = request.form
    made = await create_key(
        request.records,
        request.tenant_id,
        _FORM.given(request).get("name", ""),
        [scope for scope in SCOPES if f"scopes.{scope}" in form],
        expires_at=_expiry(request),
        by=request.caller,
    )
    return await keys_page(request, made)


async def revoke_form(request: AdminRequest, key_id: str) -> Answer:
    record = await request.records.get(request.caller, api_keys, key_id)
    values = {"key": record, "back": KEYS}
    return in_settings(
        request, "revoke-key.html", words("Revoke %(name)s?", name=record["name"]), values
    )


async def revoke(request: AdminRequest, key_id: str) -> Answer:
    record = await revoke_key(request.records, key_id, by=request.caller)
    return Redirect(
        KEYS, words("%(name)s is revoked. Calls with it are now refused.", name=record["name"])
    )


def _expiry(request: AdminRequest) -> str:
    days = request.form.get("expires", "")
    if days not in EXPIRIES:
        raise Invalid(
            {"expires": Problem("validation_invalid_value", words("Choose one from the list."))}
        )
    if not days:
        return ""
    return clock.to_text(request.records.clock() + timedelta(days=int(days)))


async def keys_page(request: AdminRequest, made: tuple[Record, str] | None = None) -> Answer:
    filters = KeyFilters.of(request.query)
    page = await read_page(request, filters.listing())
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    new_id = made[0]["id"] if made else ""
    calls = await _calls(request, items)
    values = {
        "made": {"name": made[0]["name"], "key": made[1]} if made else None,
        "rows": [_shown(request, each) for each in items],
        "new_id": new_id,
        "calls": calls,
        "pager": pager,
        "filters": filters,
        "has_ended": await _has_ended(request),
        "address": KEYS,
        **_form(request),
        **await _plan(request),
    }
    return in_settings(request, "keys.html", words("API keys"), values)


def _form(request: AdminRequest) -> dict[str, object]:
    ticked = request.form if request.problems else {}
    return {
        **_FORM.values(request, labels={"scopes": words("It may"), "expires": words("Expires")}),
        "expiries": [
            WidgetChoice(days, label, days == ticked.get("expires", ""))
            for days, label in EXPIRIES.items()
        ],
        "scopes": [
            WidgetChoice(name, f"{what[0].upper()}{what[1:]}", f"scopes.{name}" in ticked)
            for name, what in zip(SCOPES, map(retold, SCOPES.values()), strict=True)
        ],
    }


async def _has_ended(request: AdminRequest) -> bool:
    return bool(await request.first(api_keys, 1, filter=ENDED, names=frozenset({"id"})))


async def _calls(request: AdminRequest, keys: list[Record]) -> dict[str, Chart]:
    """The charts of each key by its id, and of all together by ''."""
    names = {"": words("all keys")} | {key["id"]: key["name"] for key in keys}
    now = request.records.clock()
    since = day_of(now - timedelta(days=DAYS - 1))
    counts = await request.records.counts.by_day(
        request.caller, api_keys, [API_CALLS], since, subjects=list(names)
    )
    return {key_id: _chart(name, counts[API_CALLS, key_id], now) for key_id, name in names.items()}


def _chart(name: str, counts: ByDay, now: datetime) -> Chart:
    days = last_days(counts, now.date())
    most = max(days, key=lambda day: day.count)
    total = sum(counts.values())
    sentence = counted(
        "%(count)s call of %(name)s in %(days)s days",
        "%(count)s calls of %(name)s in %(days)s days",
        total,
        count=number(total),
        name=name,
        days=DAYS,
    )
    if most.count:
        sentence = words(
            "%(sentence)s, most on %(day)s with %(number)s",
            sentence=sentence,
            day=most.label,
            number=number(most.count),
        )
    return bar_chart(sentence, days)


async def _plan(request: AdminRequest) -> dict[str, object]:
    limits = limits_of(request.tenant, request.services.settings.rate_limits)
    return {
        "plan": request.tenant.plan.title(),
        "has_api": request.tenant.plan.has_api,
        "limits": limits,
        "today": await request.services.limiter.calls_today(request.tenant),
    }


def _shown(request: AdminRequest, key: Record) -> Record:
    """`ends`: on which day it ends or has ended."""
    now = clock.to_text(request.records.clock())
    is_over = bool(key["revoked_at"] or (key["expires_at"] and key["expires_at"] <= now))
    scopes = granted(_decode_names(key["scopes"]))
    has_all = len(scopes) == len(SCOPES)
    return key | {
        "may": words("all %(number)s", number=len(SCOPES))
        if has_all
        else ", ".join(sorted(scopes)),
        "ends": _end(request, key, is_over=is_over),
        "is_valid": not is_over,
    }


def _end(request: AdminRequest, key: Record, *, is_over: bool) -> str:
    at = key["revoked_at"] or key["expires_at"]
    if not at:
        return ""
    on = day(request.local(at))
    if key["revoked_at"]:
        return words("Revoked %(day)s", day=on)
    return words("Expired %(day)s", day=on) if is_over else words("Expires %(day)s", day=on)
