"""The list of members, new ones, and labels that group them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.errors import BadRequest, Invalid, NotFound, Problem
from masthead.engine.records.accounts import credentials
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals, has_item, newer
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, given_values, sentence_of, widgets
from masthead.faces.admin.lists import Filters, Listing, options, read_page
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import MOST, PER_UNIT, SELECT, find_matching, ticked
from masthead.features.members.collection import MEMBERS_JOINED, blog_members
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.undo.undoing import Steps

ADDRESS = "/admin/members"
PER_PAGE = 50
TIERS = {"free": "Free", "paid": "Paid"}
STATUSES = {"active": "Active", "past_due": "Payment late", "cancelled": "Cancelled"}
BADGES = {"active": "good", "past_due": "warn", "cancelled": "bad"}
NEWSLETTER = {"yes": "Gets the newsletter", "no": "Without newsletter"}
JOINED = {"7": "In 7 days", "30": "In 30 days", "365": "In a year"}
ORDERS = ("created",)
FIELDS = frozenset({"email", "name", "tier", "status", "newsletter", "labels", "created"})
MAX_LABELS = 200
"""In the filter: the first of the alphabet."""
LABELS_HELP = (
    "Separated by commas. Only staff see them. An export of the person's data includes them."
)

NEW_ASKS = (
    Ask("email", "Email address"),
    Ask("name", "Name"),
    Ask("tier", "Tier", choices=TIERS),
    Ask("newsletter", "Newsletter", "Only with their consent."),
    Ask("consent_source", "How did they agree?", "For example: a card at the counter."),
    Ask("labels", "Labels", LABELS_HELP),
)


class MemberFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {
        "tier": TIERS,
        "status": STATUSES,
        "newsletter": NEWSLETTER,
        "joined": JOINED,
        "sort": ORDERS,
    }

    q: str = ""
    tier: str = ""
    status: str = ""
    newsletter: str = ""
    joined: str = ""
    label: str = ""
    sort: str = ""

    def listing(self, request: AdminRequest) -> Listing:
        is_counted = not (self.q or self.joined or (self.label and self.newsletter))
        wanted = ListRequest(
            filter=self.condition(request),
            search=searched(self.q),
            sort="" if self.q else self.sort or "-created",
            names=FIELDS,
            skip_total=not is_counted,
        )
        return Listing(blog_members, wanted, self.url)

    def condition(self, request: AdminRequest) -> Expression | str:
        conditions: list[Expression] = []
        if self.label:
            conditions.append(has_item("labels", self.label))
        if self.status:
            conditions.append(equals("status", self.status))
        if self.tier:
            conditions.append(equals("tier", self.tier))
        if self.newsletter:
            conditions.append(equals("newsletter", self.newsletter == "yes"))
        if self.joined:
            since = request.now - timedelta(days=int(self.joined))
            conditions.append(newer("created", clock.to_text(since)))
        return all_of(conditions) or ""


def searched(words: str) -> str:
    """The last word may be unfinished, as someone types it."""
    return f"{words}*" if words and words[-1].isalnum() else words


class MemberRow(msgspec.Struct, frozen=True):
    id: str
    url: str
    name: str
    email: str
    labels: tuple[str, ...]
    tier: str
    badge: str
    status: str
    newsletter: str
    joined: str
    joined_at: str


async def members_list(request: AdminRequest) -> Answer:
    filters = MemberFilters.of(request.query)
    page = await read_page(request, filters.listing(request), PER_PAGE)
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    total = await request.records.counts.total(request.caller, blog_members, "")
    values = {
        "filters": filters,
        "rows": [_row(request, as_member(each)) for each in items],
        "pager": pager,
        "total": total,
        "tally": await _tally(request),
        "tiers": options(TIERS),
        "statuses": options(STATUSES),
        "newsletter": options(NEWSLETTER),
        "joined": options(JOINED),
        "labels": await _labels(request, filters.label),
        "has_orders": not filters.q,
        "order_url": replace(filters, sort="" if filters.sort else "created").url(),
        "csv_query": urlencode(filters.parameters()),
        "may_change": may_change(request),
    }
    return Page("members/list.html", "Members", values, fragment="members/_list.html")


def may_change(request: AdminRequest) -> bool:
    return request.caller.is_admin


def _row(request: AdminRequest, member: MemberRecord) -> MemberRow:
    joined = request.local(member["created"])
    return MemberRow(
        member["id"],
        f"{ADDRESS}/{member['id']}",
        member["name"],
        member["email"],
        tuple(items_of(member["labels"])),
        TIERS[member["tier"]],
        BADGES[member["status"]],
        STATUSES[member["status"]],
        "Yes" if member["newsletter"] else "No",
        f"{joined.day} {joined:%b %Y}",
        member["created"],
    )


def items_of(value: Any) -> list[str]:
    """The items of a list field that was read for an answer."""
    return list(msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value)


async def _tally(request: AdminRequest) -> list[tuple[str, int]]:
    """From counters."""
    wanted = {
        "Free": MemberFilters(tier="free"),
        "Paid": MemberFilters(tier="paid"),
        "Payment late": MemberFilters(status="past_due"),
        "Newsletter": MemberFilters(newsletter="yes"),
    }
    counts = request.records.counts
    found = [
        (label, await counts.total(request.caller, blog_members, each.condition(request)))
        for label, each in wanted.items()
    ]
    since = f"{request.now.astimezone(UTC) - timedelta(days=29):%Y-%m-%d}"
    joined = await counts.by_day(request.caller, blog_members, (MEMBERS_JOINED,), since)
    return [*found, ("New in 30 days", sum(sum(days.values()) for days in joined.values()))]


async def _labels(request: AdminRequest, chosen: str) -> list[Any]:
    totals = await request.records.counts.by_item(
        request.caller, blog_members, "labels", MAX_LABELS
    )
    used = list(totals)
    if chosen and chosen not in used:
        used.append(chosen)
    return options({label: label for label in sorted(used, key=str.casefold)})


async def new_member_form(request: AdminRequest) -> Answer:
    return _new_page(request)


async def new_member(request: AdminRequest) -> Answer:
    given = given_values(request.caller, blog_members, NEW_ASKS, request.form)
    stamped: dict[str, Any] = credentials("")
    if given.get("consent_source"):
        stamped |= {"consent_at": clock.to_text(request.records.clock())}
    try:
        member = await request.records.create(request.caller, blog_members, given, stamped=stamped)
    except Invalid as error:
        return _new_page(request, error.problems)
    return Redirect(f"{ADDRESS}/{member['id']}", "The member is added.")


def _new_page(request: AdminRequest, problems: Mapping[str, Problem] | None = None) -> Page:
    request.records.check_may_create(request.caller, blog_members)
    empty = {each.name: each.default_value() for each in blog_members.fields}
    typed = request.form if problems else None
    values = {
        "fields": widgets(
            request.caller, blog_members, NEW_ASKS, empty, typed=typed, problems=problems
        ),
        "problems": said(NEW_ASKS, problems),
        "back": ADDRESS,
    }
    return Page("members/new.html", "Add a member", values, status=422 if problems else 200)


def said(asks: Sequence[Ask], problems: Mapping[str, Problem] | None) -> dict[str, tuple[str, str]]:
    labels = {ask.name: ask.label for ask in asks}
    return {
        name: (labels.get(name, name), sentence_of(each)) for name, each in (problems or {}).items()
    }


_DONE = {"label": "have the label", "unlabel": "no longer have the label"}


async def change_members(request: AdminRequest) -> Answer:
    """Adds a label to the selected members, or removes it."""
    request.records.check_may_update(request.caller, blog_members, "")
    form = request.form
    filters = MemberFilters.of(form)
    action, label = form.get("action", ""), form.get("label_name", "").strip()
    if action not in _DONE:
        raise BadRequest("Choose what to do with the selected members.")
    is_all = form.get("all") == "1"
    chosen = await find_matching(request, filters.listing(request)) if is_all else ticked(form)
    if not chosen:
        return Redirect(filters.url(), "No member was selected.")
    if not label:
        return _question(filters, chosen, is_all=is_all)
    try:
        steps = await _relabel(request, chosen, action, label)
    except Invalid as error:
        problem = error.problems.get("labels")
        if problem is None:
            raise
        return _question(filters, chosen, is_all=is_all, label=label, problem=problem.message)
    changed = steps.count
    noun = "1 member" if changed == 1 else f"{changed:,} members"
    verb = _DONE[action] if changed != 1 else _DONE[action].replace("have", "has", 1)
    return Redirect(filters.url(), f"{noun} {verb} “{label}”.", undo=undo_address(steps))


def _question(
    filters: MemberFilters,
    chosen: Sequence[str],
    *,
    is_all: bool,
    label: str = "",
    problem: str = "",
) -> Page:
    values = {
        "filters": filters,
        "count": len(chosen),
        "is_all": is_all,
        "ticked": [] if is_all else [f"{SELECT}{each}" for each in chosen],
        "label_name": label,
        "problem": problem,
        "back": filters.url(),
        "has_limit": is_all and len(chosen) == MOST,
    }
    status = 422 if problem else 200
    return Page("members/label.html", "Label these members", values, status)


async def _relabel(request: AdminRequest, chosen: Sequence[str], action: str, label: str) -> Steps:
    """Deleted ones are skipped."""
    steps = Steps(request.caller, blog_members, ("labels",))
    for start in range(0, len(chosen), PER_UNIT):
        async with request.records.unit(request.caller) as unit:
            for member_id in chosen[start : start + PER_UNIT]:
                with suppress(NotFound):
                    await _relabel_one(unit, member_id, action, label, steps=steps)
            steps.save(unit)
    return steps


async def _relabel_one(
    unit: Unit, member_id: str, action: str, label: str, *, steps: Steps
) -> None:
    found = await unit.find(blog_members, {"id": member_id}, limit=1)
    if not found or (action == "label" and label in found[0]["labels"]):
        return
    others = [each for each in found[0]["labels"] if each != label]
    given = {"labels": [*others, label] if action == "label" else others}
    steps.note_change(found[0], await unit.update(blog_members, member_id, given))
