"""The list of members, new ones, and labels that group them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec.structs import replace

from masthead.base import clock
from masthead.base.errors import BadRequest, Invalid
from masthead.base.languages.words import both_numbers, counted, words
from masthead.engine.records.accounts import credentials
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals, has_item, newer
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.levels import level_names
from masthead.faces.admin.lists import Listing, ListPage, Pick, Search, sorted_words
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import Selection, change_each, read_selection
from masthead.features.members.collection import MEMBERS_JOINED, blog_members
from masthead.features.undo.undoing import Steps

ADDRESS = "/admin/members"
PER_PAGE = 50
TIERS = {"free": words("Free"), "paid": words("Paid")}
STATUSES = {
    "active": words("Active"),
    "past_due": words("Payment late"),
    "cancelled": words("Cancelled"),
}
_BADGES = {"active": "good", "past_due": "warn", "cancelled": "bad"}
STATES = {name: (_BADGES[name], words) for name, words in STATUSES.items()}
"""The kind of badge, and its words."""
NEWSLETTER = {"yes": words("Gets the newsletter"), "no": words("Without newsletter")}
JOINED = {"7": words("In 7 days"), "30": words("In 30 days"), "365": words("In a year")}
MAX_LABELS = 200
"""In the filter: the first of the alphabet."""
LABELS_HELP = words(
    "Separated by commas. Only staff see them. An export of the person's data includes them."
)

NEW_FORM = Form(
    blog_members,
    (
        Ask("email", words("Email address")),
        Ask("name", words("Name")),
        Ask("tier", words("Tier"), choices=TIERS),
        Ask("newsletter", words("Newsletter"), words("Only with their consent.")),
        Ask(
            "consent_source",
            words("How did they agree?"),
            words("For example: a card at the counter."),
        ),
        Ask("labels", words("Labels"), LABELS_HELP),
    ),
)


class MemberList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Members")
    collection = blog_members
    names = frozenset(
        {
            *("email", "name", "tier", "tier_id", "status", "newsletter", "labels", "created"),
            # Only in the downloaded list.
            "language",
        }
    )
    template = "members/_list.html"
    page = "members/list.html"
    search = Search(words("Search names and addresses"), words("Search members"))
    picks = (
        Pick("tier", words("Tier"), words("Any tier"), TIERS),
        Pick("status", words("Status"), words("Any status"), STATUSES),
        Pick("newsletter", words("Newsletter"), words("Newsletter"), NEWSLETTER),
        Pick("joined", words("Joined"), words("Joined any time"), JOINED),
    )
    choices = (("sort", ("created",)),)
    per_page = PER_PAGE

    q: str = ""
    tier: str = ""
    status: str = ""
    newsletter: str = ""
    joined: str = ""
    label: str = ""
    level: str = ""
    """The id of a tier."""
    sort: str = ""

    @property
    def words(self) -> str:
        return searched(self.q)

    @property
    def is_counted(self) -> bool:
        return not (self.q or self.joined or self.level or (self.label and self.newsletter))

    def listing(self, request: AdminRequest) -> Listing:
        found = super().listing(request)
        if self.words or not self.sort:
            return found
        return replace(found, wanted=replace(found.wanted, sort=self.sort))

    def conditions(self, request: AdminRequest) -> list[Expression]:
        conditions: list[Expression] = []
        if self.label:
            conditions.append(has_item("labels", self.label))
        if self.status:
            conditions.append(equals("status", self.status))
        if self.level:
            conditions.append(equals("tier_id", self.level))
        if self.tier:
            conditions.append(equals("tier", self.tier))
        if self.newsletter:
            conditions.append(equals("newsletter", self.newsletter == "yes"))
        if self.joined:
            since = request.now - timedelta(days=int(self.joined))
            conditions.append(newer("created", clock.to_text(since)))
        return conditions

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        labels = await _labels(request, self.label)
        by_label = (Pick("label", words("Label"), words("Any label"), labels),) if labels else ()
        levels = await level_names(request)
        by_level = (
            (Pick("level", words("Paid tier"), words("Any paid tier"), levels),) if levels else ()
        )
        return {
            "tiers": TIERS,
            "levels": levels,
            "states": STATES,
            "total": await request.records.counts.total(request.caller, blog_members, ""),
            "tally": await _tally(request),
            "picks": (*self.picks, *by_level, *by_label),
            "order_url": replace(self, sort="" if self.sort else "created").url(),
            "csv_query": urlencode(self.parameters()),
            "may_change": may_change(request),
        }


def searched(words: str) -> str:
    """The last word may be unfinished, as someone types it."""
    return f"{words}*" if words and words[-1].isalnum() else words


def may_change(request: AdminRequest) -> bool:
    return request.caller.is_admin


async def _tally(request: AdminRequest) -> list[tuple[str, int]]:
    """From counters."""
    wanted = {
        words("Free"): equals("tier", "free"),
        words("Paid"): equals("tier", "paid"),
        words("Payment late"): equals("status", "past_due"),
        words("Newsletter"): equals("newsletter", True),
    }
    counts = request.records.counts
    found = [
        (label, await counts.total(request.caller, blog_members, each))
        for label, each in wanted.items()
    ]
    since = f"{request.now.astimezone(UTC) - timedelta(days=29):%Y-%m-%d}"
    joined = await counts.by_day(request.caller, blog_members, (MEMBERS_JOINED,), since)
    return [*found, (words("New in 30 days"), sum(sum(days.values()) for days in joined.values()))]


async def _labels(request: AdminRequest, chosen: str) -> dict[str, str]:
    totals = await request.records.counts.by_item(
        request.caller, blog_members, "labels", MAX_LABELS
    )
    return sorted_words({label: label for label in (*totals, *([chosen] if chosen else ()))})


async def new_member_form(request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, blog_members)
    values = {**NEW_FORM.values(request), "back": ADDRESS}
    return Page("members/new.html", words("Add a member"), values)


async def new_member(request: AdminRequest) -> Answer:
    given = NEW_FORM.given(request)
    stamped: dict[str, Any] = credentials("")
    if given.get("consent_source"):
        stamped |= {"consent_at": clock.to_text(request.records.clock())}
    member = await request.records.create(request.caller, blog_members, given, stamped=stamped)
    return Redirect(f"{ADDRESS}/{member['id']}", words("The member is added."))


_DONE = {
    "label": both_numbers(
        "%(count)s member has the label “%(label)s”.",
        "%(count)s members have the label “%(label)s”.",
    ),
    "unlabel": both_numbers(
        "%(count)s member no longer has the label “%(label)s”.",
        "%(count)s members no longer have the label “%(label)s”.",
    ),
}


async def change_members(request: AdminRequest) -> Answer:
    """Adds a label to the selected members, or removes it."""
    request.records.check_may_update(request.caller, blog_members, "")
    form = request.form
    filters = MemberList.of(form)
    action, label = form.get("action", ""), form.get("label_name", "").strip()
    if action not in _DONE:
        raise BadRequest(words("Choose what to do with the selected members."))
    chosen = await read_selection(request, filters.listing(request))
    if not chosen.ids:
        return Redirect(filters.url(), words("No member was selected."))
    if not label:
        return _question(filters, chosen)
    steps = Steps(request.caller, blog_members, ("labels",))

    async def change(unit: Unit, member_id: str) -> None:
        await _relabel_one(unit, member_id, action, label, steps=steps)

    try:
        await change_each(request, steps, chosen.ids, change)
    except Invalid as error:
        problem = error.problems.get("labels")
        if problem is None:
            raise
        return _question(filters, chosen, label, problem.message)
    one, many = _DONE[action]
    said = counted(one, many, steps.count, count=number(steps.count), label=label)
    return Redirect(filters.url(), said, undo=undo_address(steps))


def _question(filters: MemberList, chosen: Selection, label: str = "", problem: str = "") -> Page:
    values = {
        "filters": filters,
        "chosen": chosen.values(),
        "label_name": label,
        "problem": problem,
        "back": filters.url(),
    }
    status = 422 if problem else 200
    return Page("members/label.html", words("Label these members"), values, status)


async def _relabel_one(
    unit: Unit, member_id: str, action: str, label: str, *, steps: Steps
) -> None:
    found = await unit.find_one(blog_members, {"id": member_id})
    if not found or (action == "label" and label in found["labels"]):
        return
    others = [each for each in found["labels"] if each != label]
    given = {"labels": [*others, label] if action == "label" else others}
    steps.note_change(found, await unit.update(blog_members, member_id, given))
