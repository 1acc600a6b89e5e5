"""The public API of pages."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from masthead.content.texts.content import CONTENT_MARKDOWN, replace_markdown
from masthead.content.texts.later import PAGES_LATER
from masthead.engine.records.fields.languages import MAX_TAG, language_tag
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals, newer
from masthead.features.pages.collection import pages
from masthead.features.site.text_addresses import URL, with_url
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import SORT, Parameter
from masthead.web.v1.resource import Resource
from masthead.web.v1.schema import Body, View

_NULLABLE = frozenset({"excerpt", "featured_image", "published_at", "url"})
_SEO = ("seo_title", "seo_description")

SUMMARY = View(
    "PageSummary",
    pages,
    (
        *("id", "title", "slug", "url", "status", "excerpt", "featured_image", "published_at"),
        *("language", "translations", "created", "updated"),
    ),
    nullable=_NULLABLE,
    where_set=frozenset({"language", "translations"}),
    added=(URL,),
    made_of=("edition",),
)
PAGE = View(
    "Page",
    pages,
    (*SUMMARY.fields, "content_html", "content_json", *_SEO),
    nullable=_NULLABLE | {*_SEO},
    where_set=SUMMARY.where_set,
    added=(URL,),
    made_of=SUMMARY.made_of,
)
CREATE = Body(
    "PageCreate",
    pages,
    (
        *("title", "slug", "content_html", "content_json", "excerpt", "status", "featured_image"),
        *_SEO,
        *("language", "translations"),
    ),
    required=frozenset({"title"}),
    nullable=frozenset(
        {"excerpt", "featured_image", *_SEO, "content_json", "language", "translations"}
    ),
    inputs=(CONTENT_MARKDOWN,),
    replaced=frozenset({CONTENT_MARKDOWN.name}),
    translate=replace_markdown,
    check=PAGES_LATER,
)

STATUS = Parameter("status", "Only pages in this state.", "choice", choices=("draft", "published"))
OF_LANGUAGE = Parameter("language", "Only pages in this language, such as `de`.", maximum=MAX_TAG)
Q = Parameter(
    "q",
    "Only pages that have all of these words in their title or text, with the same rules as for "
    "posts.",
    maximum=200,
)
UPDATED_SINCE = Parameter("updated_since", "Only pages changed after this moment.", "moment")


def _conditions(call: Call) -> Iterator[Expression]:
    if call.query["status"]:
        yield equals("status", call.query["status"])
    if call.query["language"]:
        yield equals("language", language_tag(call.query["language"]))
    if call.query["updated_since"]:
        yield newer("updated", call.query["updated_since"])


routes = Resource(
    collection=pages,
    path="/pages",
    noun=("page", "pages"),
    scopes=("pages:read", "pages:write"),
    view=PAGE,
    summary=SUMMARY,
    filters=(STATUS, OF_LANGUAGE, Q, UPDATED_SINCE, SORT),
    conditions=_conditions,
    shown=lambda call: with_url(call, "/", lambda _: True),
    create=CREATE,
    update=replace(CREATE, name="PageUpdate", partial=True),
    takes_put=True,
).routes
