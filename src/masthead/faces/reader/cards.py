"""Posts as lists show them, with their authors, tags and pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, cast
from urllib.parse import quote

import msgspec

from masthead.base import clock
from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.reader.pictures import pictures_of, small
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Author, Card, Link, Pager, Picture
from masthead.features.payments.levels import NAMELESS, names_by_id
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import PostRecord, as_post
from masthead.features.posts.site import PUBLISHED_LIST, of_edition, tag_slug
from masthead.identity.tenants import superusers

CARD_FIELDS = frozenset(
    {
        "title",
        "slug",
        "excerpt",
        "summary",
        "reading_minutes",
        "visibility",
        "tiers",
        "published_at",
        "tags",
        "authors",
        "featured_image",
        "edition",
        "language",
    }
)
BEFORE = "before"
MOST_RELATED: Final = 3
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


Listing = tuple[str, str]


async def list_posts(
    request: SiteRequest,
    count: int,
    *listings: Listing,
    first_page: bool = False,
) -> tuple[list[PostRecord], Pager]:
    """A page of the posts of some listings, newest first, beginning where the address says."""
    after = None if first_page else _position(request.query.get(BEFORE, ""))
    found: dict[str, PostRecord] = {}
    for each in listings or ((PUBLISHED_LIST, ""),):
        listing = of_edition(each, request.edition)
        wanted = ListRequest(
            per_page=count + 1, listing=listing, after=after, names=CARD_FIELDS, skip_total=True
        )
        page = await request.records.page(request.caller, posts, wanted)
        found |= {post["id"]: as_post(post) for post in page.items}
    newest = sorted(found.values(), key=_order, reverse=True)
    items = newest[:count]
    older = ""
    if len(newest) > count:
        position = f"{items[-1]['published_at']}_{items[-1]['id']}"
        older = f"{quote(request.path)}?{BEFORE}={quote(position, safe='')}"
    return items, Pager(quote(request.path) if BEFORE in request.query else "", older)


def in_edition(request: SiteRequest) -> str:
    """The filter for texts in the language of the address."""
    return f"edition = '{request.edition}'" if len(request.editions) > 1 else ""


async def next_position(request: SiteRequest, after: str) -> str:
    """The first moment after this one at which a post of any language was or will be published;
    '' for none."""
    found = [
        await request.records.next_position(
            request.tenant_id, posts, (PUBLISHED_LIST, edition), after
        )
        for edition in request.editions
    ]
    return min(filter(None, found), default="")


def _order(post: PostRecord) -> tuple[str, str]:
    return post["published_at"], post["id"]


def _position(text: str) -> tuple[str, str] | None:
    """The place of the last post of the page before, or a day, from which old addresses lead
    here."""
    if _DAY.fullmatch(text):
        return text, ""
    moment, _, record_id = text.rpartition("_")
    return (moment, record_id) if moment and record_id else None


async def cards_of(request: SiteRequest, found: Iterable[Record]) -> tuple[Card, ...]:
    items = [as_post(each) for each in found]
    authors = await authors_of(request, items)
    pictures = await pictures_of(request, [item["featured_image"] for item in items])
    levels = await _levels_of(request, items)
    return tuple(
        _card(request, item, authors, pictures, levels=levels.get(item["id"], ())) for item in items
    )


async def related_to(request: SiteRequest, post_id: str) -> tuple[Card, ...]:
    """The nearest posts that this reader can read."""
    if not request.site_record["related_posts"]:
        return ()
    stored = await request.services.related.ids_of(request.tenant_id, post_id)
    nearest: list[Record] = []
    # Most readers may read the first ones.
    for wanted in (stored[:MOST_RELATED], stored[MOST_RELATED:]):
        if wanted and len(nearest) < MOST_RELATED:
            nearest += await _readable(request, wanted)
    return await cards_of(request, nearest[:MOST_RELATED]) if nearest else ()


async def _readable(request: SiteRequest, wanted: Sequence[str]) -> list[Record]:
    found = await request.records.find_related(
        request.caller, posts, "id", wanted, limit=len(wanted), names=CARD_FIELDS
    )
    read = (each for each in found if as_post(each)["is_open"])
    items = {each["id"]: each for each in read if each["edition"] == request.edition}
    return [items[each] for each in wanted if each in items]


async def _levels_of(
    request: SiteRequest, items: Iterable[PostRecord]
) -> dict[str, tuple[str, ...]]:
    """The names of the tiers that posts are for, by the id of the post."""
    chosen = {item["id"]: item["tiers"] for item in items if item["tiers"]}
    wanted = {level for levels in chosen.values() for level in levels}
    names = await names_by_id(request.records, request.tenant_id, wanted)
    return {
        post_id: tuple(name for level, name in names.items() if level in levels) or (NAMELESS,)
        for post_id, levels in chosen.items()
    }


def _card(
    request: SiteRequest,
    post: PostRecord,
    authors: Mapping[str, Author],
    pictures: Mapping[str, Picture],
    *,
    levels: tuple[str, ...],
) -> Card:
    written_by = post["authors"] or [request.tenant_record["owner_id"]]
    return Card(
        title=post["title"],
        url=f"{root_of(post['edition'])}/posts/{quote(post['slug'])}",
        excerpt=post["excerpt"] or post["summary"],
        published=local_time(request, post["published_at"]),
        minutes=post["reading_minutes"],
        authors=tuple(authors[each] for each in written_by if each in authors),
        # In what the engine reads for answers, a list is still JSON.
        tags=tuple(
            tag_link(root_of(post["edition"]), tag)
            for tag in msgspec.json.decode(cast(bytes, post["tags"]))
        ),
        picture=pictures.get(post["featured_image"]),
        audience=post["visibility"],
        levels=levels,
        is_open=post["is_open"],
        language=own_language(request, post),
    )


def own_language(request: SiteRequest, text: Record) -> str:
    """The language of a text, if it is not that of the page."""
    is_other = text["language"].lower() != request.language.lower()
    return text["language"] if is_other else ""


async def authors_of(request: SiteRequest, found: Iterable[PostRecord]) -> dict[str, Author]:
    """The authors by id. Without any author, a post is the owner's."""
    wanted: set[str] = set()
    for post in found:
        wanted.update(post["authors"] or [request.tenant_record["owner_id"]])
    wanted.discard("")
    if not wanted:
        return {}
    staff = await request.records.find_related(
        request.caller, superusers, "id", sorted(wanted), limit=len(wanted)
    )
    pictures = await pictures_of(request, [each["picture"] for each in staff])
    return {each["id"]: author_of(request.root, each, pictures) for each in staff}


def author_of(
    root: str, account: Record, pictures: Collection[str], size: str = "100x100"
) -> Author:
    """`pictures` are those that the reader can open; `size` is that of a thumb: a face is shown
    small."""
    url = f"{root}/authors/{quote(account['slug'])}" if account["slug"] else ""
    picture = small(account["picture"], size) if account["picture"] in pictures else ""
    return Author(account["name"], url, account["bio"], picture)


def tag_link(root: str, tag: str) -> Link:
    return Link(tag, f"{root}/tags/{quote(tag_slug(tag))}")


def local_time(request: SiteRequest, text: str) -> datetime:
    return clock.from_text(text).astimezone(request.time_zone)
