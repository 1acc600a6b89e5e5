"""The public API of posts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from masthead.base import ids
from masthead.base.email_address import normal_email
from masthead.base.errors import Invalid, Problem
from masthead.content.texts.content import CONTENT_MARKDOWN, replace_markdown
from masthead.content.texts.later import POSTS_LATER
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.languages import MAX_TAG, language_tag
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals, has_item, newer
from masthead.engine.records.write.unit import Unit
from masthead.features.posts.collection import posts
from masthead.features.site.text_addresses import URL, with_url
from masthead.identity.tenants import superusers
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import SORT, Parameter
from masthead.web.v1.resource import Resource
from masthead.web.v1.schema import Body, View

_STORED = posts.by_name["authors"]
assert isinstance(_STORED, RelationList)
AUTHORS: Final = TextList(
    name=_STORED.name,
    max_items=_STORED.max_items,
    max_length=255,
    help="The people of the staff who wrote the post, in this order, by id or email address. "
    "Answers have their ids, and leave the list out where it is empty.",
)
NULLABLE = frozenset(
    {
        "excerpt",
        "featured_image",
        "published_at",
        "scheduled_for",
        "seo_title",
        "seo_description",
        "url",
    }
)
CLEARABLE = NULLABLE - {"url"} | {"content_json", "language", "translations"}

SUMMARY = View(
    "PostSummary",
    posts,
    (
        "id",
        "title",
        "slug",
        "url",
        "status",
        "visibility",
        "tiers",
        "email_only",
        "excerpt",
        "featured_image",
        "tags",
        "authors",
        "published_at",
        "scheduled_for",
        "language",
        "translations",
        "created",
        "updated",
    ),
    nullable=NULLABLE - {"seo_title", "seo_description"},
    where_set=frozenset({"email_only", "authors", "tiers", "language", "translations"}),
    added=(URL,),
    made_of=("edition",),
)
POST = View(
    "Post",
    posts,
    (*SUMMARY.fields, "content_html", "content_json", "seo_title", "seo_description"),
    nullable=NULLABLE,
    where_set=SUMMARY.where_set,
    added=SUMMARY.added,
    made_of=SUMMARY.made_of,
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
    "tiers",
    "email_only",
    "featured_image",
    "tags",
    "seo_title",
    "seo_description",
    "language",
    "translations",
)

CREATE = Body(
    "PostCreate",
    posts,
    FIELDS,
    required=frozenset({"title"}),
    nullable=CLEARABLE,
    inputs=(CONTENT_MARKDOWN, AUTHORS),
    replaced=frozenset({CONTENT_MARKDOWN.name}),
    translate=replace_markdown,
    check=POSTS_LATER,
)
UPDATE = replace(CREATE, name="PostUpdate", partial=True)

STATUS = Parameter("status", "Only posts in this state.", "choice", choices=("draft", "published"))
TAG = Parameter("tag", "Only posts with this tag.", maximum=100)
OF_LANGUAGE = Parameter("language", "Only posts in this language, such as `de`.", maximum=MAX_TAG)
Q = Parameter(
    "q",
    "Only posts that have all of these words in their title, excerpt, text or tags. "
    '`"quoted words"` must be adjacent, `begin*` finds all words with this prefix; accents and '
    "upper case make no difference. Newest first, like every list.",
    maximum=200,
)
UPDATED_SINCE = Parameter("updated_since", "Only posts changed after this moment.", "moment")


def _conditions(call: Call) -> Iterator[Expression]:
    if call.query["status"]:
        yield equals("status", call.query["status"])
    if call.query["tag"]:
        yield has_item("tags", call.query["tag"])
    if call.query["language"]:
        yield equals("language", language_tag(call.query["language"]))
    if call.query["updated_since"]:
        yield newer("updated", call.query["updated_since"])


def _is_open(post: Record) -> bool:
    return post["visibility"] == "public" and not post["email_only"]


routes = Resource(
    collection=posts,
    path="/posts",
    noun=("post", "posts"),
    scopes=("posts:read", "posts:write"),
    view=POST,
    summary=SUMMARY,
    filters=(STATUS, TAG, OF_LANGUAGE, Q, UPDATED_SINCE, SORT),
    conditions=_conditions,
    given=lambda call: _with_author_ids(call.unit, call.body),
    shown=lambda call: with_url(call, "/posts/", _is_open),
    create=CREATE,
    update=UPDATE,
    takes_put=True,
).routes


async def _with_author_ids(unit: Unit, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same body, changed in place: email addresses are replaced by ids. Raises Invalid."""
    if AUTHORS.name in given and isinstance(given, dict):
        found = [await _id_of(unit, each) for each in given[AUTHORS.name]]
        given[AUTHORS.name] = list(dict.fromkeys(found))
    return given


async def _id_of(unit: Unit, author: str) -> str:
    by = {"id": author} if ids.is_id(author) else {"email": normal_email(author)}
    found = await unit.find_one(superusers, by) if "\x00" not in author else None
    if not found:
        message = f"There is no one on the staff with the id or email address {author[:80]!r}."
        raise Invalid({AUTHORS.name: Problem("validation_missing_rel_records", message)})
    return str(found["id"])
