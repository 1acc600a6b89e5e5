"""The comments below a post: a page of threads, each with its answers.

However many comments there are, a page reads at most `THREADS` threads and `ANSWERS` answers, in
the same number of statements. Readers who can't read the post never get here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, urlencode

import msgspec
from markupsafe import Markup, escape

from masthead.base.caller import system
from masthead.base.ids import is_id
from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Record
from masthead.faces.reader.cards import local_time
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Comment, CommentForm, Discussion
from masthead.features.comments.collection import DELETED, PENDING, TEXT, THREADS, comments
from masthead.features.comments.discussion import Author
from masthead.features.comments.record_view import CommentRecord, as_comment
from masthead.features.comments.rules import may_comment, waits_for_approval
from masthead.features.comments.text import LINK
from masthead.features.posts.record_view import PostRecord

THREADS_A_PAGE: Final = 50
ANSWERS_A_PAGE: Final = 200
LEVELS: Final = 3
"""Levels of nesting; deeper replies are shown on the last level, in the order of their time."""
_BEFORE, _THREAD, _AFTER = "before", "thread", "after"
READ = (_BEFORE, _THREAD, _AFTER)
"""The parameters that a discussion depends on."""
_AFTER_A_LINK: Final = ".,;:!?)]}"


class _CommentPage(msgspec.Struct):
    """The comments of a page, before they are nested."""

    heads: list[Record]
    answers: list[Record]
    older: str = ""
    newer: str = ""
    is_thread: bool = False
    is_cut: bool = False
    """There are more answers than were read."""


async def discussion_of(
    request: SiteRequest, post: PostRecord, form: CommentForm | None = None
) -> Discussion | None:
    """None where nothing was said and nothing can be."""
    if not post["is_open"]:
        return None
    settings = request.site_record
    is_on = settings["comments_enabled"]
    total = await _total(request, post)
    if not is_on and not total:
        return None
    found = await _shown(request, post) if total else _CommentPage([], [])
    author = author_of(request)
    if author.posted:
        await _add_waiting(request, post, author, found)
    return Discussion(
        comments=_Nesting(request, found, author).views(),
        total=total,
        may_post=is_on and may_comment(settings["comments_by"], request.audience),
        open_to=settings["comments_by"] if is_on else "",
        waits=waits_for_approval(settings["comments_moderation"], request.audience),
        needs_name=request.audience == 0 or bool(form and "name" in form.errors),
        needs_email=request.audience == 0,
        older=found.older,
        newer=found.newer,
        is_thread=found.is_thread,
        query=_same_page(request),
        form=form,
    )


def author_of(request: SiteRequest) -> Author:
    """The reader. On a shared page, this is never someone who has commented."""
    return Author(
        request.caller,
        request.address,
        member_id="" if request.staff_id or not request.member else request.member["id"],
        staff_id=request.staff_id,
        posted=request.posted,
    )


def page_address(request: SiteRequest, post: PostRecord) -> str:
    """The address of the page that a form was sent from."""
    return f"{_path_of(post)}{_same_page(request)}"


def _path_of(post: PostRecord) -> str:
    return f"{root_of(post['edition'])}/posts/{quote(post['slug'])}"


def _same_page(request: SiteRequest) -> str:
    kept = {name: request.query[name] for name in READ if name in request.query}
    return f"?{urlencode(kept)}" if kept else ""


async def _total(request: SiteRequest, post: PostRecord) -> int:
    wanted = f"post_id = '{post['id']}' && shown_as = '{TEXT}'"
    return await request.records.counts.total(request.caller, comments, wanted)


async def _shown(request: SiteRequest, post: PostRecord) -> _CommentPage:
    return await _thread(request, post) or await _page(request, post)


async def _page(request: SiteRequest, post: PostRecord) -> _CommentPage:
    """The newest threads, or those before the position in the address."""
    before = _position(request.query.get(_BEFORE, ""))
    newest = await request.first(
        comments, THREADS_A_PAGE + 1, listing=(THREADS, post["id"]), after=before
    )
    heads = newest[:THREADS_A_PAGE][::-1]
    path = _path_of(post)
    found = _CommentPage(heads, [], newer=f"{path}#comments" if before else "")
    if len(newest) > THREADS_A_PAGE:
        found.older = f"{path}?{_BEFORE}={quote(_cursor(as_comment(heads[0])), safe='')}#comments"
    if heads:
        # A thread whose first comment was deleted continues under its first replies.
        keys = sorted({key for head in heads for key in (head["id"], head["thread_id"]) if key})
        read = await request.records.find_related(
            request.caller, comments, "thread_id", keys, limit=ANSWERS_A_PAGE + 1
        )
        found.is_cut = len(read) > ANSWERS_A_PAGE
        found.answers = read[:ANSWERS_A_PAGE]
    return found


async def _thread(request: SiteRequest, post: PostRecord) -> _CommentPage | None:
    """The one thread that the address names, if it is there."""
    thread_id = request.query.get(_THREAD, "")
    if not is_id(thread_id):
        return None
    heads = await request.records.find_related(request.caller, comments, "id", [thread_id], limit=1)
    if not heads or heads[0]["post_id"] != post["id"] or heads[0]["parent_id"]:
        return None
    conditions = f"thread_id = '{heads[0]['thread_id'] or thread_id}'"
    if after := _position(request.query.get(_AFTER, "")):
        moment, last = (_quoted(each) for each in after)
        conditions += f" && (created > {moment} || (created = {moment} && id > {last}))"
    read = await request.first(comments, ANSWERS_A_PAGE + 1, filter=conditions, sort="created")
    path = _path_of(post)
    found = _CommentPage(heads, read[:ANSWERS_A_PAGE], is_thread=True)
    if len(read) > ANSWERS_A_PAGE:
        query = urlencode({_THREAD: thread_id, _AFTER: _cursor(as_comment(found.answers[-1]))})
        found.newer = f"{path}?{query}#comments"
    return found


async def _add_waiting(
    request: SiteRequest, post: PostRecord, author: Author, found: _CommentPage
) -> None:
    """A reader's own comments that only they can see yet."""
    ids = sorted(author.posted)
    own = await request.records.find_related(
        system(request.tenant_id), comments, "id", ids, limit=len(ids)
    )
    for comment in own:
        is_here = comment["post_id"] == post["id"] and comment["status"] == PENDING
        if is_here and author.may_change(comment, request.now):
            (found.answers if comment["parent_id"] else found.heads).append(comment)


def _cursor(comment: CommentRecord) -> str:
    return f"{comment['created']}_{comment['id']}"


def _position(text: str) -> tuple[str, str] | None:
    moment, _, record_id = text.rpartition("_")
    return (moment, record_id) if moment and is_id(record_id) else None


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))


class _Nesting(msgspec.Struct):
    """Puts answers below what they answer, without recursion: a chain may have any length."""

    request: SiteRequest
    found: _CommentPage
    author: Author
    _below: dict[str, list[Record]] = msgspec.field(default_factory=dict)
    _names: dict[str, str] = msgspec.field(default_factory=dict)

    def views(self) -> tuple[Comment, ...]:
        self._place()
        return tuple(self._views(self.found.heads))

    def _place(self) -> None:
        answers = self._by_parent()
        shown_below: dict[str, str] = {}
        level = [(head, 1) for head in self.found.heads]
        while level:
            following = []
            for comment, depth in level:
                is_deepest = depth == LEVELS
                place = shown_below[comment["id"]] if is_deepest else comment["id"]
                for answer in answers.get(comment["id"], ()):
                    if is_deepest:
                        self._names[answer["id"]] = comment["author_name"]
                    shown_below[answer["id"]] = place
                    self._below.setdefault(place, []).append(answer)
                    following.append((answer, min(depth + 1, LEVELS)))
            level = following

    def _by_parent(self) -> dict[str, list[Record]]:
        """A reply to a comment that is held back or on another page is shown below the first
        comment of its thread."""
        heads = {head["id"] for head in self.found.heads}
        there = heads | {answer["id"] for answer in self.found.answers}
        by_parent: dict[str, list[Record]] = {}
        for answer in self.found.answers:
            parent = answer["parent_id"] if answer["parent_id"] in there else answer["thread_id"]
            if answer["id"] not in heads:
                by_parent.setdefault(parent, []).append(answer)
        return by_parent

    def _views(self, found: Iterable[Record]) -> Iterable[Comment]:
        """Not deeper than `LEVELS`."""
        for record in sorted(map(as_comment, found), key=_order):
            replies = tuple(self._views(self._below.get(record["id"], ())))
            if replies or record["shown_as"] != DELETED:
                yield self._view(record, replies)

    def _view(self, record: CommentRecord, replies: tuple[Comment, ...]) -> Comment:
        is_head = not record["parent_id"]
        return Comment(
            id=record["id"],
            author=record["author_name"],
            when=local_time(self.request, record["created"]),
            text=record["body"],
            paragraphs=paragraphs(record["body"]),
            is_staff=bool(record["staff_id"]),
            is_waiting=record.get("status") == PENDING,
            is_deleted=record["shown_as"] == DELETED,
            can_change=self.author.may_change(record, self.request.now),
            answers=self._names.get(record["id"], ""),
            thread=f"?{_THREAD}={record['id']}#comments" if self.found.is_cut and is_head else "",
            replies=replies,
        )


def _order(comment: CommentRecord) -> tuple[str, str]:
    return comment["created"], comment["id"]


def paragraphs(text: str) -> tuple[Markup, ...]:
    """Escaped text in which web addresses are links that give nothing to their target."""
    return tuple(_linked(part) for part in text.split("\n\n") if part.strip())


def _linked(text: str) -> Markup:
    parts, end = [], 0
    for match in LINK.finditer(text):
        address = match[0].rstrip(_AFTER_A_LINK)
        parts += [escape(text[end : match.start()]), _link(address)]
        end = match.start() + len(address)
    return Markup("").join([*parts, escape(text[end:])])


def _link(address: str) -> Markup:
    return Markup('<a class="link" href="{0}" rel="nofollow ugc noopener">{0}</a>').format(address)
