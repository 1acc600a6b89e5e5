"""The forms below a post: a comment, an answer, a change and a deletion."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from masthead.base.caller import Caller, Kind
from masthead.base.errors import Forbidden, Invalid, RateLimited
from masthead.base.languages.words import words
from masthead.faces.reader.discussion import author_of, page_address
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.pages.texts import by_slug, draw_post
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.faces.reader.views import CommentForm
from masthead.features.comments.discussion import Author
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import PostRecord, as_post
from masthead.identity.tenants import superusers
from masthead.web.errors import retry_after

TRAP: Final = "website"
"""The field that people don't see."""
NAME_LENGTH: Final = 100
"""Characters of an account's name that a comment shows."""
CLOSED: Final = words("You can't read this post, so you can't comment on it.")
_FIELDS: Final = {"author_name": "name", "author_email": "email", "body": "body"}
"""From the record's fields to the form's."""


async def post_comment(request: SiteRequest, form: Form, slug: str) -> Page | Redirect:
    post = await _open_post(request, slug)
    address = page_address(request, post)
    if form.get(TRAP):
        # A program filled it in: it learns nothing, and nothing is stored.
        return see_other(f"{address}#comments")
    sent = CommentForm(
        {},
        form.get("body", ""),
        form.get("name", ""),
        form.get("email", ""),
        parent_id=form.get("parent_id", ""),
    )
    author = await _sign(request, sent)
    try:
        new = await request.services.discussions.post(author, post, sent.body, sent.parent_id)
        await _remember_name(request, author)
    except (Invalid, RateLimited) as error:
        return await _show_refusal(request, post, sent, error)
    cookie = request.services.posted_comments.header(
        request.tenant_id, request.posted, new["id"], is_https=request.is_https
    )
    if not sent.parent_id:
        # A new thread is on the first page.
        address = address.partition("?")[0]
    return see_other(f"{address}#comment-{new['id']}", cookie)


async def edit_comment(
    request: SiteRequest, form: Form, slug: str, comment_id: str
) -> Page | Redirect:
    post = await _open_post(request, slug)
    sent = CommentForm({}, form.get("body", ""), comment_id=comment_id)
    author = author_of(request)
    try:
        await request.services.discussions.edit(author, post, comment_id, sent.body)
    except (Invalid, RateLimited) as error:
        return await _show_refusal(request, post, sent, error)
    return see_other(f"{page_address(request, post)}#comment-{comment_id}")


async def delete_comment(
    request: SiteRequest, _form: Form, slug: str, comment_id: str
) -> Page | Redirect:
    post = await _open_post(request, slug)
    author = author_of(request)
    await request.services.discussions.delete(author, post, comment_id)
    return see_other(f"{page_address(request, post)}#comments")


async def _sign(request: SiteRequest, sent: CommentForm) -> Author:
    """With a name: of the account, or as a guest typed it."""
    author = author_of(request)
    if author.staff_id:
        found = await request.records.find_one(
            superusers, {"id": author.staff_id}, tenant_id=request.tenant_id
        )
        name = (found["name"] if found else "") or site_of(request).name
        return replace(author, name=name[:NAME_LENGTH])
    if request.member is not None:
        name = request.member["name"][:NAME_LENGTH] or sent.name
        return replace(author, name=name, email=request.member["email"])
    return replace(author, name=sent.name, email=sent.email)


async def _remember_name(request: SiteRequest, author: Author) -> None:
    """A member who had no name until now gets the one of the first comment."""
    if not author.member_id or (request.member and request.member["name"]):
        return
    member = Caller(
        Kind.MEMBER, request.tenant_id, author.member_id, author.email, blog_members.name
    )
    await request.records.update(member, blog_members, author.member_id, {"name": author.name})


async def _open_post(request: SiteRequest, slug: str) -> PostRecord:
    """Only readers who can read a post can comment on it."""
    post = as_post(await by_slug(request, posts, slug))
    if not post["is_open"]:
        raise Forbidden(CLOSED)
    return post


async def _show_refusal(
    request: SiteRequest, post: PostRecord, sent: CommentForm, error: Invalid | RateLimited
) -> Page:
    """The page again, with what was typed and what to do about it."""
    if isinstance(error, RateLimited):
        status, errors = 429, {"": str(error)}
    else:
        status, errors = (
            422,
            {_FIELDS.get(name, ""): p.message for name, p in error.problems.items()},
        )
        if "parent_id" in error.problems:
            # The form that it was typed into no longer exists.
            sent = replace(sent, parent_id="")
    drawn = await draw_post(request, post, replace(sent, errors=errors))
    return replace(drawn, status=status, headers=tuple(retry_after(status, error)))
