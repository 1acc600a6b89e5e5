"""The public API of posts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from masthead.base import clock
from masthead.base.errors import Problem
from masthead.content.texts.content import CONTENT_MARKDOWN, replace_markdown
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.values import read_moment
from masthead.engine.records.filter.conditions import equals, has_item, newer
from masthead.engine.records.read.page import Page
from masthead.features.posts.collection import posts
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import delete, get, list_of, patch, post, put
from masthead.web.v1.schema import Body, View

NULLABLE = frozenset(
    {
        "excerpt",
        "featured_image",
        "published_at",
        "scheduled_for",
        "seo_title",
        "seo_description",
    }
)

SUMMARY = View(
    "PostSummary",
    posts,
    (
        "id",
        "title",
        "slug",
        "status",
        "visibility",
        "email_only",
        "excerpt",
        "featured_image",
        "tags",
        "published_at",
        "scheduled_for",
        "created",
        "updated",
    ),
    nullable=NULLABLE & {"excerpt", "featured_image", "published_at", "scheduled_for"},
    where_true=frozenset({"email_only"}),
)
POST = View(
    "Post",
    posts,
    (*SUMMARY.fields, "content_html", "content_json", "seo_title", "seo_description"),
    nullable=NULLABLE,
    where_true=SUMMARY.where_true,
)

FIELDS = (
    "title",
    "slug",
    "content_html",
    "content_json",
    "excerpt",
    "status",
    "scheduled_for",
    "visibility",
    "email_only",
    "featured_image",
    "tags",
    "seo_title",
    "seo_description",
)


def _misunderstood(given: Mapping[str, Any], now: datetime) -> Mapping[str, Problem]:
    """A body that means a later publication must not publish the post at once."""
    if given.get("status") == "scheduled":
        return {"status": _NO_STATUS}
    if given.get("status") != PUBLISHED:
        return {}
    return {name: problem for name, problem in _LATER.items() if _is_to_come(given.get(name), now)}


def _is_to_come(given: object, now: datetime) -> bool:
    moment = read_moment(given) if isinstance(given, str) else None
    return bool(moment and moment > clock.to_text(now))


_NO_STATUS: Final = Problem(
    "validation_invalid_value",
    "Must be one of: draft, published. To publish the post later, send `scheduled_for` with the "
    "status draft or none.",
)
_LATER: Final = {
    "published_at": Problem(
        "validation_not_settable",
        "Can't be set to a future date. To publish the post later, send `scheduled_for` with this "
        "date, and the status draft or none.",
    ),
    "scheduled_for": Problem(
        "validation_scheduled_draft",
        "Only a draft can be scheduled. Send the status draft or none with scheduled_for, or send "
        "the status published without it to publish the post now.",
    ),
}

CREATE = Body(
    "PostCreate",
    posts,
    FIELDS,
    required=frozenset({"title"}),
    nullable=NULLABLE | {"content_json"},
    inputs=(CONTENT_MARKDOWN,),
    translate=replace_markdown,
    check=_misunderstood,
)
UPDATE = Body(
    "PostUpdate",
    posts,
    FIELDS,
    required=frozenset({"title"}),
    nullable=NULLABLE | {"content_json"},
    inputs=(CONTENT_MARKDOWN,),
    translate=replace_markdown,
    check=_misunderstood,
    partial=True,
)

STATUS = Parameter("status", "Only posts in this state.", "choice", choices=("draft", "published"))
TAG = Parameter("tag", "Only posts with this tag.", maximum=100)
Q = Parameter(
    "q",
    "Only posts that have all of these words in their title, excerpt, text or tags. "
    '`"quoted words"` must be adjacent, `begin*` finds all words with this prefix; accents and '
    "upper case make no difference. Newest first, like every list.",
    maximum=200,
)
UPDATED_SINCE = Parameter("updated_since", "Only posts changed after this moment.", "moment")


async def list_posts(call: Call) -> Page:
    conditions = []
    if call.query["status"]:
        conditions.append(equals("status", call.query["status"]))
    if call.query["tag"]:
        conditions.append(has_item("tags", call.query["tag"]))
    if call.query["updated_since"]:
        conditions.append(newer("updated", call.query["updated_since"]))
    return await call.page(posts, *conditions, search=call.query["q"] or "")


async def create_post(call: Call) -> Record:
    return await call.unit.create(posts, call.body)


async def get_post(call: Call) -> Record:
    return await call.get(posts)


async def update_post(call: Call) -> Record:
    return await call.unit.update(
        posts, call.record_id, call.body, expected_version=call.expected_version
    )


async def delete_post(call: Call) -> None:
    await call.unit.delete(posts, call.record_id, expected_version=call.expected_version)


routes = (
    list_of(
        "/posts",
        list_posts,
        scope="posts:read",
        view=SUMMARY,
        filters=(STATUS, TAG, Q, UPDATED_SINCE),
        summary="List posts, newest first",
    ),
    post(
        "/posts",
        create_post,
        scope="posts:write",
        view=POST,
        body=CREATE,
        summary="Create a post",
    ),
    get("/posts/{id}", get_post, scope="posts:read", view=POST, summary="View a post"),
    patch(
        "/posts/{id}",
        update_post,
        scope="posts:write",
        view=POST,
        body=UPDATE,
        summary="Change a post",
    ),
    put(
        "/posts/{id}",
        update_post,
        scope="posts:write",
        view=POST,
        body=UPDATE,
        summary="Change a post (same as PATCH)",
    ),
    delete(
        "/posts/{id}",
        delete_post,
        scope="posts:write",
        summary="Delete a post; for 30 days it can be restored from the trash",
    ),
)
