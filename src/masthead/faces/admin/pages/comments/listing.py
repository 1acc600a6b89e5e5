"""The list of comments: what waits for approval, and everything else by state and person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec.structs import replace

from masthead.base.config.keyring import DecryptionError
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.faces.admin.environment import day
from masthead.faces.admin.lists import ListPage, Search
from masthead.faces.admin.request import AdminRequest
from masthead.features.comments.collection import APPROVED, DELETED, PENDING, SPAM, comments
from masthead.features.comments.record_view import CommentRecord, as_comment
from masthead.features.comments.text import count_links
from masthead.features.members.collection import blog_members
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.posts.collection import posts

ADDRESS = "/admin/comments"
ALL = "all"
BADGES = {
    PENDING: ("warn", words("Waiting")),
    APPROVED: ("good", words("Approved")),
    SPAM: ("bad", words("Spam")),
}
STATES = {state: words for state, (_, words) in BADGES.items()}
FIELDS = frozenset(
    {
        *("post_id", "parent_id", "thread_id", "author_name", "author_email", "body", "status"),
        *("shown_as", "member_id", "staff_id", "created"),
    }
)
_GUESTS = "admin/guests"
_NOBODY = "nobody@invalid"
_QUOTED = 200
"""Characters of the comment that another one answers."""


class CommentList(ListPage, frozen=True):
    """Without a state: what waits."""

    address = ADDRESS
    title = words("Comments")
    collection = comments
    names = FIELDS
    template = "comments/_list.html"
    page = "comments/list.html"
    live = "comments"
    search = Search(words("Search names and texts"))
    choices = (("status", (APPROVED, SPAM, ALL)),)

    q: str = ""
    status: str = ""
    member: str = ""
    guest: str = ""
    """The encrypted email address of a guest, because servers log the addresses of pages."""
    post: str = ""

    @property
    def state(self) -> str:
        return self.status or PENDING

    @property
    def is_searched(self) -> bool:
        return bool(self.q or self.member or self.guest or self.post)

    def in_state(self, state: str) -> CommentList:
        return replace(self, status="" if state == PENDING else state)

    @property
    def is_counted(self) -> bool:
        """There are counters by state and by post."""
        return not (self.q or self.member or self.guest)

    @property
    def words(self) -> str:
        return self.q

    def conditions(self, request: AdminRequest) -> list[Expression]:
        by = {"member_id": self.member, "post_id": self.post}
        if self.guest:
            # Without an address nothing is found, rather than all that has none.
            by["author_email"] = email_of(request, self) or _NOBODY
        if self.state != ALL:
            by["status"] = self.state
        return [equals(name, value) for name, value in by.items() if value]

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        chosen = request.query.get("current", "")
        by_id = {each["id"]: each for each in items}
        current = chosen if chosen in by_id else next(iter(by_id), "")
        return {
            "rows": await rows_of(request, items, self, current),
            "total": -1,
            "tabs_of": await _tabs(request, self),
            "order": ",".join(by_id),
            "place": place_of(request.query),
            "narrowed": await _describe_narrowing(request, self),
            "about": (
                await about_person(request, as_comment(by_id[current]), self) if current else None
            ),
        }


def place_of(given: Mapping[str, str]) -> dict[str, str]:
    """Which page of the list it is."""
    return {name: given[name] for name in ("before", "after", "at") if given.get(name)}


async def _tabs(request: AdminRequest, filters: CommentList) -> list[tuple[object, ...]]:
    """With totals where there are counters."""
    found: list[tuple[object, ...]] = []
    for state, label in {**STATES, ALL: words("All")}.items():
        there = filters.in_state(state)
        total = None
        if there.is_counted:
            condition = all_of(there.conditions(request)) or ""
            total = await request.records.counts.total(request.caller, comments, condition)
        found.append((label, there.url(), filters.state == state, total))
    return found


def email_of(request: AdminRequest, filters: CommentList) -> str:
    """The guest's email address; empty without one, and for a text that is no such address."""
    if not filters.guest:
        return ""
    try:
        return request.services.keyring.decrypt(_GUESTS, filters.guest, request.tenant_id)
    except DecryptionError:
        return ""


async def _describe_narrowing(request: AdminRequest, filters: CommentList) -> str:
    """Whose comments, or on which post, in words."""
    if filters.member:
        [found] = await by_id(request, blog_members, [filters.member], "name", "email") or [{}]
        who = found.get("name") or found.get("email") or words("a deleted member")
        return words("By %(name)s", name=who)
    if filters.guest:
        return words("By %(name)s", name=email_of(request, filters) or words("an unknown guest"))
    if filters.post:
        [found] = await by_id(request, posts, [filters.post], "title") or [{}]
        return words("On “%(title)s”", title=found.get("title") or words("a deleted post"))
    return ""


async def by_id(
    request: AdminRequest, collection: Collection, ids: Sequence[str], *names: str
) -> list[Record]:
    wanted = sorted(set(ids))
    if not wanted:
        return []
    return await request.records.find_related(
        request.caller, collection, "id", wanted, limit=len(wanted), names=frozenset(names)
    )


async def rows_of(
    request: AdminRequest, items: Sequence[Record], filters: CommentList, current: str = ""
) -> list[Record]:
    """Reads posts, members and what is answered for all of them at once."""
    on = await by_id(request, posts, [each["post_id"] for each in items], "title")
    titles = {each["id"]: each["title"] for each in on}
    writers = [each["member_id"] for each in items if each["member_id"]]
    members = {each["id"]: as_member(each) for each in await _members(request, writers)}
    parents = [each["parent_id"] for each in items if each["parent_id"]]
    answered = {
        each["id"]: {"name": each["author_name"], "text": short(each["body"], _QUOTED)}
        for each in await by_id(request, comments, parents, "author_name", "body")
    }
    return [
        each
        | {
            "url": comment_url(each["id"], filters),
            "answer_url": comment_url(each["id"], filters, reply="1"),
            "about": _about(as_comment(each), members.get(each["member_id"])),
            "when": request.when(each["created"]),
            "answered": answered.get(each["parent_id"]),
            "post_title": titles.get(each["post_id"], ""),
            "badge": BADGES[each["status"]],
            "is_current": each["id"] == current,
        }
        for each in items
    ]


def comment_url(comment_id: str, filters: CommentList, **more: str) -> str:
    query = urlencode(filters.parameters() | more)
    return f"{ADDRESS}/{comment_id}" + (f"?{query}" if query else "")


async def _members(request: AdminRequest, ids: Sequence[str]) -> list[Record]:
    return await by_id(request, blog_members, ids, "tier", "status", "created", "name", "email")


def _about(comment: CommentRecord, member: MemberRecord | None) -> str:
    if comment["shown_as"] == DELETED:
        return words("deleted by its author")
    links = count_links(comment["body"])
    writer = _writer(comment, member)
    found = counted("a link", "%(number)s links", links)
    return f"{writer}, {found}" if links else writer


def _writer(comment: CommentRecord, member: MemberRecord | None) -> str:
    if comment["staff_id"]:
        return words("staff")
    if not comment["member_id"]:
        return words("guest")
    if member is None:
        return words("deleted member")
    is_paid = member["tier"] == "paid" and member["status"] != "cancelled"
    return words("paid member") if is_paid else words("member")


def short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


BEFORE = 3
COUNTED = 200
"""Comments of a person. More are not counted: some have written thousands."""


async def about_person(
    request: AdminRequest, comment: CommentRecord, filters: CommentList
) -> dict[str, Any]:
    """The author's earlier comments, and how many of them were approved."""
    theirs = _written_by(request, comment)
    facts: list[tuple[str, str]] = []
    found = await _members(request, [comment["member_id"]] if comment["member_id"] else [])
    if found:
        since = request.local(found[0]["created"])
        facts.append((words("Here since"), day(since)))
    before: list[Record] = []
    total = 0
    if theirs is not None:
        states = await _states(request, theirs)
        total = len(states)
        facts += [(label, str(states[:COUNTED].count(state))) for state, label in STATES.items()]
        if total > COUNTED:
            facts.append((words("Counted"), words("the newest %(number)s", number=COUNTED)))
        before = await _wrote_before(request, comment, theirs, filters)
    links = count_links(comment["body"])
    facts.append((words("Links here"), str(links) if links else words("none")))
    name = comment["author_name"]
    return {
        "name": name,
        "email": comment["author_email"],
        "initials": "".join(word[0] for word in name.split()[:2]).upper(),
        "facts": facts,
        "before": before,
        "all_url": theirs.in_state(ALL).url() if theirs is not None else "",
        "total": total,
        "counted": COUNTED,
    }


def _written_by(request: AdminRequest, comment: CommentRecord) -> CommentList | None:
    """A member by the account, a guest by the address. None where there is neither."""
    if comment["member_id"]:
        return CommentList(member=comment["member_id"])
    if not comment["author_email"]:
        return None
    keyring = request.services.keyring
    return CommentList(guest=keyring.encrypt(_GUESTS, comment["author_email"], request.tenant_id))


async def _states(request: AdminRequest, theirs: CommentList) -> list[str]:
    """The states of the newest comments, one more than are counted: there is no counter for a
    person."""
    wanted = replace(
        theirs.in_state(ALL).listing(request).wanted,
        per_page=COUNTED + 1,
        names=frozenset({"status"}),
    )
    found = await request.records.page(request.caller, comments, wanted)
    return [each["status"] for each in found.items]


async def _wrote_before(
    request: AdminRequest, comment: CommentRecord, theirs: CommentList, filters: CommentList
) -> list[Record]:
    wanted = replace(
        theirs.in_state(ALL).listing(request).wanted,
        per_page=BEFORE,
        after=(comment["created"], comment["id"]),
    )
    items = (await request.records.page(request.caller, comments, wanted)).items
    on = await by_id(request, posts, [each["post_id"] for each in items], "title")
    titles = {each["id"]: each["title"] for each in on}
    return [
        each
        | {
            "text": short(each["body"], _QUOTED),
            "url": comment_url(each["id"], filters),
            "post_title": titles.get(each["post_id"], ""),
            "badge": BADGES[each["status"]],
        }
        for each in items
    ]
