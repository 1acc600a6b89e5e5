"""The list of posts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from masthead.base.caller import Caller
from masthead.base.languages.alphabet import by_letters
from masthead.base.languages.words import words
from masthead.content.texts.publication import DRAFT
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals, has_item
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.forms import Ask
from masthead.faces.admin.lists import Listing, Pick, sorted_words
from masthead.faces.admin.pages.texts.lists import SORTS, STATUSES, TextList
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS, READERS
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import PostRecord, as_post
from masthead.features.posts.review import READY
from masthead.features.posts.site import (
    DRAFT_AUTHOR_LIST,
    DRAFT_TAG_LIST,
    READY_LIST,
    SCHEDULED_LIST,
)

TAG_OPTIONS = f"{POSTS.address}/tags"
MAX_TAGS = 200
"""In the choice of a tag. Where a site has more, a tag is typed."""
MAX_SUGGESTED = 20
MAX_TAG_LENGTH = 100
SCHEDULED = "scheduled"
_STATUSES = {
    "draft": STATUSES["draft"],
    READY: words("Ready for review"),
    SCHEDULED: words("Scheduled"),
    "published": STATUSES["published"],
}


_WAITING = {SCHEDULED: (SCHEDULED_LIST, "scheduled_for"), READY: (READY_LIST, "review_at")}
"""Drafts that wait, by status: the listing, and the field of its order."""


class PostList(TextList, frozen=True):
    section = POSTS
    address = POSTS.address
    title = POSTS.label
    collection = posts
    columns = ((words("Who can read it"), "fit"), (words("Author"), "drop-s drop-m author"))
    names = frozenset(
        {
            *("title", "status", "visibility", "email_only", "published_at", "scheduled_for"),
            *("authors", "review", "review_at", "created", "updated"),
        }
    )
    picks = (
        Pick("status", words("Status"), words("Any status"), _STATUSES),
        Pick("visibility", words("Who can read it"), words("Any visibility"), READERS),
    )
    choices = (("sort", SORTS),)

    visibility: str = ""
    tag: str = ""
    author: str = ""

    def has_orders(self, caller: Caller) -> bool:
        """Search results, the posts of a tag or an author, and those with a status and readers are
        newest first, and those that wait by their time: these lists are read in that order, and
        sorting would read all."""
        is_of_author = bool(self.author) or caller.is_writer
        is_waiting = self.status in _WAITING and not self.q
        is_both = self.status and self.visibility
        return not (self.q or self.tag or is_of_author or is_waiting or is_both)

    def has_total(self, caller: Caller) -> bool:
        is_of_author = bool(self.author) or caller.is_writer
        is_uncounted = (self.tag and self.visibility) or self.status in _WAITING
        return not (self.q or is_of_author or is_uncounted)

    def listing(self, request: AdminRequest) -> Listing:
        found, caller = super().listing(request), request.caller
        if self.q:
            # The index knows the words of tags, so it does not read the posts of others.
            tag = self.tag.replace('"', " ")
            search = f'{self.q} "{tag}"' if tag else self.q
            return replace(found, wanted=replace(found.wanted, search=search))
        if self.status in _WAITING:
            # `created` is the position in a listing: here the time of publication, or that at which
            # it became ready.
            name, by = _WAITING[self.status]
            wanted = replace(found.wanted, listing=(name, ""), sort="created")
            return replace(found, wanted=wanted, by=by)
        author = self._author(caller)
        if self.status == DRAFT and (self.tag or author):
            drafts = (DRAFT_TAG_LIST, self.tag) if self.tag else (DRAFT_AUTHOR_LIST, author)
            return replace(found, wanted=replace(found.wanted, listing=drafts))
        return found

    def conditions(self, request: AdminRequest) -> list[Expression]:
        # The list is read from the index of the first that it has: few authors have fewer posts
        # than a tag. The rule lets an author see own posts alone; said here as well, that index
        # serves it.
        found: list[Expression] = [has_item("tags", self.tag)] if self.tag else []
        authors = dict.fromkeys((self._author(request.caller), self.author))
        found += [has_item("authors", each) for each in authors if each]
        if self.status and self.status not in _WAITING:
            found.append(equals("status", self.status))
        if self.visibility:
            found.append(equals("visibility", self.visibility))
        return found

    def _author(self, caller: Caller) -> str:
        return caller.id if caller.is_writer else self.author

    async def further(
        self, request: AdminRequest, texts: Sequence[Record]
    ) -> tuple[Sequence[Pick], list[tuple[str, ...]]]:
        names = await staff_names(request)
        picks = [*self.picks]
        tags = await _tag_totals(request, MAX_TAGS + 1)
        if len(tags) > MAX_TAGS:
            picks.append(Pick("tag", words("Tag"), words("Any tag"), suggestions=TAG_OPTIONS))
        elif tags:
            known = {tag: tag for tag in (*tags, *([self.tag] if self.tag else ()))}
            picks.append(Pick("tag", words("Tag"), words("Any tag"), sorted_words(known)))
        if len(names) > 1:
            picks.append(Pick("author", words("Author"), words("Any author"), sorted_words(names)))
        return picks, [_cells(as_post(each), names) for each in texts]


def _cells(post: PostRecord, names: Mapping[str, str]) -> tuple[str, ...]:
    authors = ", ".join(names[each] for each in post["authors"] if each in names)
    readers = READERS[post["visibility"]]
    if post["email_only"]:
        readers = words("%(readers)s, by email", readers=readers)
    return readers, authors


async def tag_options(request: AdminRequest) -> Answer:
    """The tags that begin as what was typed."""
    begins = request.query.get("tag", "").strip()[:MAX_TAG_LENGTH]
    # PostgreSQL would refuse NUL as a parameter.
    found = {} if "\0" in begins else await _tag_totals(request, MAX_SUGGESTED, begins)
    values = {"options": sorted(found, key=by_letters)}
    return Page("texts/_options.html", words("Tags"), values, fragment="texts/_options.html")


async def with_known_tags(request: AdminRequest, ask: Ask) -> Ask:
    """The field of a post's tags with those of the site, most used first. None for an author, who
    may not know of the posts of others."""
    totals = await _tag_totals(request, MAX_TAGS + 1)
    known = sorted(totals, key=lambda tag: (-totals[tag], by_letters(tag)))
    # These are the first of the alphabet. The others are asked for as one of them is typed.
    suggestions = TAG_OPTIONS if len(totals) > MAX_TAGS else ""
    return replace(ask, known=tuple(known), suggestions=suggestions)


async def _tag_totals(request: AdminRequest, limit: int, begins: str = "") -> dict[str, int]:
    return await request.records.counts.by_item(request.caller, posts, "tags", limit, begins=begins)
