"""The public API of comments."""

from __future__ import annotations

from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.features.comments.collection import comments
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import delete, get, list_of, patch, post
from masthead.web.v1.schema import Body, View

STATES = ("approved", "pending", "spam")

COMMENT = View(
    "Comment",
    comments,
    (
        "id",
        "post_id",
        "author_name",
        "author_email",
        "body",
        "parent_id",
        "status",
        "created",
        "updated",
    ),
    nullable=frozenset({"author_email", "parent_id"}),
)
CREATE = Body(
    "CommentCreate",
    comments,
    ("post_id", "author_name", "author_email", "body", "parent_id"),
    required=frozenset({"post_id", "author_name", "body"}),
    nullable=frozenset({"author_email", "parent_id"}),
)
MODERATE = Body("CommentModeration", comments, ("status",), required=frozenset({"status"}))

POST_ID = Parameter("post_id", "Only comments of this post.", maximum=100)
STATUS = Parameter("status", "Only comments in this state.", "choice", choices=STATES)


async def list_comments(call: Call) -> Page:
    conditions = [
        equals(name, call.query[name]) for name in ("post_id", "status") if call.query[name]
    ]
    return await call.page(comments, *conditions)


async def create_comment(call: Call) -> Record:
    return await call.unit.create(comments, call.body)


async def moderate_comment(call: Call) -> Record:
    return await call.unit.update(
        comments, call.record_id, call.body, expected_version=call.expected_version
    )


async def get_comment(call: Call) -> Record:
    return await call.get(comments)


async def delete_comment(call: Call) -> None:
    await call.unit.delete(comments, call.record_id, expected_version=call.expected_version)


routes = (
    list_of(
        "/comments",
        list_comments,
        scope="comments:read",
        view=COMMENT,
        filters=(POST_ID, STATUS),
        summary="List comments, newest first",
    ),
    post(
        "/comments",
        create_comment,
        scope="comments:write",
        view=COMMENT,
        body=CREATE,
        summary="Submit a comment, approved at once",
    ),
    get(
        "/comments/{id}",
        get_comment,
        scope="comments:read",
        view=COMMENT,
        summary="View a comment",
    ),
    delete(
        "/comments/{id}",
        delete_comment,
        scope="comments:moderate",
        summary="Delete a comment for good; replies to it stay",
    ),
    patch(
        "/comments/{id}/moderate",
        moderate_comment,
        scope="comments:moderate",
        view=COMMENT,
        body=MODERATE,
        summary="Approve a comment, hold it back or mark it as spam",
    ),
)
