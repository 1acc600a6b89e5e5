"""Addresses that no longer get newsletters, because an email bounced or was reported as spam. An
owner can turn them on again, one by one."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import ClassVar, Final

from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, read_page
from masthead.faces.admin.pages.members.listing import ADDRESS as MEMBERS
from masthead.faces.admin.pages.members.listing import may_change, searched
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import BOUNCED, COMPLAINED, MAIL_OK, blog_members

ADDRESS: Final = f"{MEMBERS}/stopped"
PER_PAGE: Final = 50
_FIELDS: Final = frozenset({"email", "name", "mail_state", "mail_state_at", "mail_state_reason"})
_KINDS: Final = {BOUNCED: "Bounced", COMPLAINED: "Reported as spam"}
STOPPED: Final = {
    BOUNCED: "This address gets no newsletters: an email bounced.",
    COMPLAINED: "This address gets no newsletters: the reader reported one as spam.",
}
_MEANS: Final = {
    BOUNCED: "The mail server said that the mailbox does not exist. If that is still true, the "
    "next "
    "newsletter bounces as well, and many bounces make mail servers trust you less.",
    COMPLAINED: "The reader reported a newsletter as spam. Send to them again only if they "
    "have asked you to: another complaint makes mail servers trust you less.",
}


class StoppedFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {"kind": _KINDS}

    kind: str = ""
    q: str = ""

    @property
    def state(self) -> str:
        return self.kind or BOUNCED

    def listing(self) -> Listing:
        wanted = ListRequest(
            filter=equals("mail_state", self.state),
            search=searched(self.q),
            sort="" if self.q else "-mail_state_at",
            names=_FIELDS,
            skip_total=True,
        )
        return Listing(blog_members, wanted, self.url, by="created" if self.q else "mail_state_at")


async def stopped_list(request: AdminRequest) -> Answer:
    filters = StoppedFilters.of(request.query)
    page = await read_page(request, filters.listing(), PER_PAGE)
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    values = {
        "filters": filters,
        "address": ADDRESS,
        "back": MEMBERS,
        "tabs_of": [
            (label, StoppedFilters(kind, filters.q).url(), kind == filters.state, None)
            for kind, label in _KINDS.items()
        ],
        "rows": [_row(request, each) for each in items],
        "pager": pager,
        "may_change": may_change(request),
    }
    return Page(
        "members/stopped.html", "Stopped addresses", values, fragment="members/_stopped.html"
    )


def _row(request: AdminRequest, member: Record) -> dict[str, str]:
    own = f"{MEMBERS}/{member['id']}"
    at = member["mail_state_at"]
    return {
        "url": own,
        "email": member["email"],
        "name": member["name"],
        "reason": member["mail_state_reason"],
        "at": at,
        "when": request.when(at) if at else "",
        "lift": f"{own}/mail-again?from=stopped",
    }


async def lift_form(request: AdminRequest, member_id: str) -> Answer:
    """Says what it means."""
    member = await request.records.get(request.caller, blog_members, member_id)
    back = _back(request.query, member_id)
    if member["mail_state"] == MAIL_OK:
        return Redirect(back, "Newsletters go to this address.")
    values = {
        "address": f"{MEMBERS}/{member_id}/mail-again",
        "back": back,
        "email": member["email"],
        "reason": member["mail_state_reason"],
        "means": _MEANS[member["mail_state"]],
        "from": request.query.get("from", ""),
    }
    return Page("members/lift.html", f"Send newsletters to {member['email']} again?", values)


async def lift(request: AdminRequest, member_id: str) -> Answer:
    """Newsletters go to the address again. The activity shows who wanted that."""
    await request.records.update(request.caller, blog_members, member_id, {"mail_state": MAIL_OK})
    return Redirect(_back(request.form, member_id), "This address gets newsletters again.")


def _back(given: Mapping[str, str], member_id: str) -> str:
    return ADDRESS if given.get("from") == "stopped" else f"{MEMBERS}/{member_id}"
