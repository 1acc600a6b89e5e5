"""Addresses that no longer get newsletters, because an email bounced or was reported as spam. An
owner can turn them on again, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Listing, ListPage, Search
from masthead.faces.admin.pages.members.listing import ADDRESS as MEMBERS
from masthead.faces.admin.pages.members.listing import may_change, searched
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import BOUNCED, COMPLAINED, MAIL_OK, blog_members

ADDRESS: Final = f"{MEMBERS}/stopped"
_KINDS: Final = {BOUNCED: words("Bounced"), COMPLAINED: words("Reported as spam")}
STOPPED: Final = {
    BOUNCED: words("This address gets no newsletters: an email bounced."),
    COMPLAINED: words("This address gets no newsletters: the reader reported one as spam."),
}
_MEANS: Final = {
    BOUNCED: words(
        "The mail server said that the mailbox does not exist. If that is still true, the "
        "next "
        "newsletter bounces as well, and many bounces make mail servers trust you less."
    ),
    COMPLAINED: words(
        "The reader reported a newsletter as spam. Send to them again only if they "
        "have asked you to: another complaint makes mail servers trust you less."
    ),
}


class StoppedList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Stopped addresses")
    about = words(
        "Members who get no newsletters, because an email bounced or was reported as spam. They "
        "still get other emails."
    )
    back = (words("Members"), MEMBERS)
    collection = blog_members
    names = frozenset({"email", "name", "mail_state", "mail_state_at", "mail_state_reason"})
    template = "members/_stopped.html"
    choices = (("kind", _KINDS),)
    search = Search(words("Search names and addresses"), words("Search stopped addresses"))
    empty = (
        words("No such address"),
        words(
            "No address has been stopped because of a bounce or a complaint, or none matches your "
            "search."
        ),
    )
    per_page = 50
    order = "-mail_state_at"

    kind: str = ""
    q: str = ""

    @property
    def state(self) -> str:
        return self.kind or BOUNCED

    @property
    def words(self) -> str:
        return searched(self.q)

    def conditions(self, _: AdminRequest) -> list[Expression]:
        return [equals("mail_state", self.state)]

    def listing(self, request: AdminRequest) -> Listing:
        return replace(super().listing(request), by="created" if self.q else "mail_state_at")

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        kinds = [
            (label, replace(self, kind=kind).url(), kind == self.state, None)
            for kind, label in _KINDS.items()
        ]
        return {"kinds": kinds, "may_change": may_change(request)}


async def lift_form(request: AdminRequest, member_id: str) -> Answer:
    """Says what it means."""
    member = await request.records.get(request.caller, blog_members, member_id)
    back = _back(request.query, member_id)
    if member["mail_state"] == MAIL_OK:
        return Redirect(back, words("Newsletters go to this address."))
    values = {
        "address": f"{MEMBERS}/{member_id}/mail-again",
        "back": back,
        "email": member["email"],
        "reason": retold(member["mail_state_reason"]),
        "means": _MEANS[member["mail_state"]],
        "from": request.query.get("from", ""),
    }
    return Page(
        "members/lift.html",
        words("Send newsletters to %(email)s again?", email=member["email"]),
        values,
    )


async def lift(request: AdminRequest, member_id: str) -> Answer:
    """Newsletters go to the address again. The activity shows who wanted that."""
    await request.records.update(request.caller, blog_members, member_id, {"mail_state": MAIL_OK})
    return Redirect(_back(request.form, member_id), words("This address gets newsletters again."))


def _back(given: Mapping[str, str], member_id: str) -> str:
    return ADDRESS if given.get("from") == "stopped" else f"{MEMBERS}/{member_id}"
