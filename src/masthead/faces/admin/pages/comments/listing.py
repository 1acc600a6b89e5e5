"""The list of comments: what waits for approval, and everything else by state and person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from masthead.base.config.keyring import DecryptionError
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, read_page
from masthead.faces.admin.request import AdminRequest
from masthead.features.comments.collection import APPROVED, DELETED, PENDING, SPAM, comments
from masthead.features.comments.record_view import CommentRecord, as_comment
from masthead.features.comments.text import count_links
from masthead.features.members.collection import blog_members
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.posts.collection import posts

ADDRESS = "/admin/comments"
ALL = "all"
STATES = {PENDING: "Waiting", APPROVED: "Approved", SPAM: "Spam"}
BADGES = {PENDING: "warn", APPROVED: "good", SPAM: "bad"}
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


class CommentFilters(Filters, frozen=True):
    """Without a state: what waits."""

    address: ClassVar[str] = ADDRESS
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

    def in_state(self, state: str) -> CommentFilters:
        return replace(self, status="" if state == PENDING else state)

    @property
    def has_total(self) -> bool:
        """There are counters by state and by post."""
        return not (self.q or self.member or self.guest)

    def listing(self, email: str) -> Listing:
        """`email` is that of the guest."""
        wanted = ListRequest(
            filter=self.condition(email),
            search=self.q,
            sort="" if self.q else "-created",
            names=FIELDS,
            skip_total=not self.has_total,
        )
        return Listing(comments, wanted, self.url)

    def condition(self, email: str) -> Expression | str:
        by = {"member_id": self.member, "post_id": self.post}
        if self.guest:
            # Without an address nothing is found, rather than all that has none.
            by["author_email"] = email or _NOBODY
        conditions = [equals(name, value) for name, value in by.items() if value]
        if self.state != ALL:
            conditions.append(equals("status", self.state))
        return all_of(conditions) or ""


class Quoted(msgspec.Struct, frozen=True):
    """The comment that another one answers."""

    name: str
    text: str


class CommentRow(msgspec.Struct, frozen=True):
    id: str
    url: str
    answer_url: str
    name: str
    about: str
    """Known facts about the author, such as "member, paid"."""
    when: str
    at: str
    text: str
    answered: Quoted | None
    post_title: str
    post_url: str
    state: str
    badge: str
    label: str
    is_current: bool


async def comments_list(request: AdminRequest) -> Answer:
    filters = CommentFilters.of(request.query)
    email = email_of(request, filters)
    page = await read_page(request, filters.listing(email))
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    chosen = request.query.get("current", "")
    is_there = any(each["id"] == chosen for each in items)
    current = chosen if is_there else items[0]["id"] if items else ""
    values = {
        "filters": filters,
        "rows": await rows_of(request, items, filters, current),
        "pager": pager,
        "tabs": await _tabs(request, filters),
        "order": ",".join(each["id"] for each in items),
        "place": place_of(request.query),
        "narrowed": await _describe_narrowing(request, filters, email),
        "about": (
            await about_person(request, as_comment(_found(items, current)), filters)
            if current
            else None
        ),
    }
    return Page("comments/list.html", "Comments", values, fragment="comments/_list.html")


def place_of(given: Mapping[str, str]) -> dict[str, str]:
    """Which page of the list it is."""
    return {name: given[name] for name in ("before", "after", "at") if given.get(name)}


async def _tabs(request: AdminRequest, filters: CommentFilters) -> list[tuple[object, ...]]:
    """With totals where there are counters."""
    found: list[tuple[object, ...]] = []
    for state, label in {**STATES, ALL: "All"}.items():
        there = filters.in_state(state)
        total = None
        if there.has_total:
            total = await request.records.counts.total(
                request.caller, comments, there.condition("")
            )
        found.append((label, there.url(), filters.state == state, total))
    return found


def email_of(request: AdminRequest, filters: CommentFilters) -> str:
    """The guest's email address; empty without one, and for a text that is no such address."""
    if not filters.guest:
        return ""
    try:
        return request.services.keyring.decrypt(_GUESTS, filters.guest, request.tenant_id)
    except DecryptionError:
        return ""


async def _describe_narrowing(request: AdminRequest, filters: CommentFilters, email: str) -> str:
    """Whose comments, or on which post, in words."""
    if filters.member:
        [found] = await by_id(request, blog_members, [filters.member], "name", "email") or [{}]
        return f"By {found.get('name') or found.get('email') or 'a deleted member'}"
    if filters.guest:
        return f"By {email or 'an unknown guest'}"
    if filters.post:
        [found] = await by_id(request, posts, [filters.post], "title") or [{}]
        return f"On “{found.get('title') or 'a deleted post'}”"
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


def _found(items: Sequence[Record], comment_id: str) -> Record:
    return next(each for each in items if each["id"] == comment_id)


async def rows_of(
    request: AdminRequest, items: Sequence[Record], filters: CommentFilters, current: str = ""
) -> list[CommentRow]:
    """Reads posts, members and what is answered for all of them at once."""
    on = await by_id(request, posts, [each["post_id"] for each in items], "title")
    titles = {each["id"]: each["title"] for each in on}
    writers = [each["member_id"] for each in items if each["member_id"]]
    members = {each["id"]: as_member(each) for each in await _members(request, writers)}
    parents = [each["parent_id"] for each in items if each["parent_id"]]
    answered = {
        each["id"]: Quoted(each["author_name"], short(each["body"], _QUOTED))
        for each in await by_id(request, comments, parents, "author_name", "body")
    }
    return [
        CommentRow(
            id=each["id"],
            url=comment_url(each["id"], filters),
            answer_url=comment_url(each["id"], filters, reply="1"),
            name=each["author_name"],
            about=_about(as_comment(each), members.get(each["member_id"])),
            when=request.when(each["created"]),
            at=each["created"],
            text=each["body"],
            answered=answered.get(each["parent_id"]),
            post_title=titles.get(each["post_id"], ""),
            post_url=f"/admin/posts/{each['post_id']}",
            state=each["status"],
            badge=BADGES[each["status"]],
            label=STATES[each["status"]],
            is_current=each["id"] == current,
        )
        for each in items
    ]


def comment_url(comment_id: str, filters: CommentFilters, **more: str) -> str:
    query = urlencode(filters.parameters() | more)
    return f"{ADDRESS}/{comment_id}" + (f"?{query}" if query else "")


async def _members(request: AdminRequest, ids: Sequence[str]) -> list[Record]:
    return await by_id(request, blog_members, ids, "tier", "status", "created", "name", "email")


def _about(comment: CommentRecord, member: MemberRecord | None) -> str:
    links = count_links(comment["body"])
    said = f", {links} links" if links > 1 else ", a link" if links else ""
    if comment["shown_as"] == DELETED:
        return "deleted by its author"
    if comment["staff_id"]:
        return f"staff{said}"
    if not comment["member_id"]:
        return f"guest{said}"
    if member is None:
        return f"deleted member{said}"
    is_paid = member["tier"] == "paid" and member["status"] != "cancelled"
    return ("paid member" if is_paid else "member") + said


def short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


BEFORE = 3
COUNTED = 200
"""Comments of a person. More are not counted: some have written thousands."""


class Before(msgspec.Struct, frozen=True):
    """An earlier comment of the same person."""

    text: str
    url: str
    post_title: str
    when: str
    badge: str
    label: str


class Person(msgspec.Struct, frozen=True):
    name: str
    email: str
    initials: str
    facts: list[tuple[str, str]]
    before: list[Before]
    all_url: str
    """The address of the list of all their comments; empty if nothing else is known of them."""
    total: int
    """One more than `counted` where there are more."""
    counted: int = COUNTED


async def about_person(
    request: AdminRequest, comment: CommentRecord, filters: CommentFilters
) -> Person:
    """The author's earlier comments, and how many of them were approved."""
    theirs = _written_by(request, comment)
    facts: list[tuple[str, str]] = []
    found = await _members(request, [comment["member_id"]] if comment["member_id"] else [])
    if found:
        since = request.local(found[0]["created"])
        facts.append(("Here since", f"{since.day} {since:%b %Y}"))
    before: list[Before] = []
    total = 0
    if theirs is not None:
        states = await _states(request, comment, theirs)
        total = len(states)
        facts += [(label, str(states[:COUNTED].count(state))) for state, label in STATES.items()]
        if total > COUNTED:
            facts.append(("Counted", f"the newest {COUNTED}"))
        before = await _wrote_before(request, comment, theirs, filters)
    links = count_links(comment["body"])
    facts.append(("Links here", str(links) if links else "none"))
    name = comment["author_name"]
    return Person(
        name,
        comment["author_email"],
        "".join(word[0] for word in name.split()[:2]).upper(),
        facts,
        before,
        theirs.in_state(ALL).url() if theirs is not None else "",
        total,
    )


def _written_by(request: AdminRequest, comment: CommentRecord) -> CommentFilters | None:
    """A member by the account, a guest by the address. None where there is neither."""
    if comment["member_id"]:
        return CommentFilters(member=comment["member_id"])
    if not comment["author_email"]:
        return None
    keyring = request.services.keyring
    return CommentFilters(
        guest=keyring.encrypt(_GUESTS, comment["author_email"], request.tenant_id)
    )


async def _states(
    request: AdminRequest, comment: CommentRecord, theirs: CommentFilters
) -> list[str]:
    """The states of the newest comments, one more than are counted: there is no counter for a
    person."""
    wanted = replace(
        theirs.in_state(ALL).listing(comment["author_email"]).wanted,
        per_page=COUNTED + 1,
        names=frozenset({"status"}),
    )
    found = await request.records.page(request.caller, comments, wanted)
    return [each["status"] for each in found.items]


async def _wrote_before(
    request: AdminRequest, comment: CommentRecord, theirs: CommentFilters, filters: CommentFilters
) -> list[Before]:
    wanted = replace(
        theirs.in_state(ALL).listing(comment["author_email"]).wanted,
        per_page=BEFORE,
        after=(comment["created"], comment["id"]),
    )
    items = (await request.records.page(request.caller, comments, wanted)).items
    on = await by_id(request, posts, [each["post_id"] for each in items], "title")
    titles = {each["id"]: each["title"] for each in on}
    return [
        Before(
            short(each["body"], _QUOTED),
            comment_url(each["id"], filters),
            titles.get(each["post_id"], ""),
            request.when(each["created"]),
            BADGES[each["status"]],
            STATES[each["status"]],
        )
        for each in items
    ]
