"""One comment in its thread, with an answer of the staff."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.base.caller import STAFF_READER, site
from masthead.base.errors import Forbidden, Invalid
from masthead.base.languages.words import words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.comments.listing import (
    FIELDS,
    CommentList,
    about_person,
    comment_url,
    rows_of,
)
from masthead.faces.admin.request import AdminRequest
from masthead.features.comments.collection import APPROVED, DELETED, comments
from masthead.features.comments.discussion import Author
from masthead.features.comments.emails import comment_url as address_on_site
from masthead.features.comments.record_view import CommentRecord, as_comment
from masthead.features.posts.collection import posts

AROUND = 20
"""Comments of the thread that are shown before this one, and after it."""
_NAME_LENGTH = 100
_OF_POST = frozenset({"slug", "status", "edition", "email_only"})


async def comment_page(request: AdminRequest, comment_id: str) -> Answer:
    return await _page(request, comment_id, CommentList.of(request.query))


async def answer_comment(request: AdminRequest, comment_id: str) -> Answer:
    filters = CommentList.of(request.form)
    text = request.form.get("body", "")
    try:
        await request.services.discussions.answer(
            request.caller, _author(request), comment_id, text
        )
    except Invalid as error:
        [problem] = error.problems.values()
        return await _page(request, comment_id, filters, text, problem=problem.message)
    except Forbidden as error:
        # Comments are off, or the site is read-only: what was typed stays.
        return await _page(request, comment_id, filters, text, problem=str(error))
    return Redirect(filters.url(), words("Your reply is published."))


def _author(request: AdminRequest) -> Author:
    name = request.account["name"] or request.site_name
    return Author(
        site(request.tenant_id, STAFF_READER),
        request.client.address,
        name=name[:_NAME_LENGTH],
        staff_id=request.caller.id,
    )


async def _page(
    request: AdminRequest,
    comment_id: str,
    filters: CommentList,
    text: str = "",
    *,
    problem: str = "",
) -> Page:
    found = await request.records.get(request.caller, comments, comment_id, names=FIELDS)
    comment = as_comment(found)
    before, after = await _around(request, comment)
    rows = await rows_of(request, [*before, comment, *after], filters, comment_id)
    values = {
        "filters": filters,
        "row": next(each for each in rows if each["is_current"]),
        "rows": rows,
        "about": await about_person(request, comment, filters),
        "is_answerable": comment["shown_as"] != DELETED,
        "is_answering": "reply" in request.query or bool(problem),
        "text": text,
        "problem": problem,
        "back": filters.url(current=comment_id),
        "action": comment_url(comment_id, CommentList()) + "/reply",
        "on_site": await _on_site(request, comment),
    }
    title = words("Comment by %(author_name)s", author_name=comment["author_name"])
    status = 422 if problem else 200
    return Page("comments/comment.html", title, values, status, fragment="comments/_about.html")


async def _around(
    request: AdminRequest, comment: CommentRecord
) -> tuple[list[Record], list[Record]]:
    """The approved comments of the thread before and after this one."""
    thread = comment["thread_id"] or comment["id"]
    shown = all_of([equals("thread_id", thread), equals("status", APPROVED)]) or ""
    at = (comment["created"], comment["id"])
    wanted = ListRequest(
        per_page=AROUND, filter=shown, sort="-created", after=at, names=FIELDS, skip_total=True
    )
    before = (await request.records.page(request.caller, comments, wanted)).items[::-1]
    after = await request.records.page(request.caller, comments, replace(wanted, sort="created"))
    if comment["thread_id"] and len(before) < AROUND:
        # The beginning of the thread, which is not one of its answers.
        heads = await request.records.find_related(
            request.caller, comments, "id", [comment["thread_id"]], limit=1, names=FIELDS
        )
        before = [*heads, *before]
    return before, after.items


async def _on_site(request: AdminRequest, comment: CommentRecord) -> str:
    """Where readers see it; empty where they don't."""
    if comment["status"] != APPROVED:
        return ""
    post = await request.records.get(request.caller, posts, comment["post_id"], names=_OF_POST)
    has_page = post["status"] == PUBLISHED and not post["email_only"]
    return address_on_site(request.site_url, post, comment) if has_page else ""
