"""The posts of a tag and of an author, the archive and the search."""

from __future__ import annotations

import asyncio
from itertools import groupby
from urllib.parse import quote

from masthead.base.errors import BadRequest, NotFound
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.reader.cards import CARD_FIELDS, author_of, cards_of, in_edition, list_posts
from masthead.faces.reader.endpoint import Page
from masthead.faces.reader.found_places import with_places
from masthead.faces.reader.pictures import pictures_of, small
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import absolute, in_all_languages, page_title, site_of
from masthead.faces.reader.views import ArchivePage, Card, Head, Link, ListPage, Month, SearchPage
from masthead.features.posts.collection import posts
from masthead.features.posts.site import AUTHOR_LIST, TAG_LIST, tag_slug
from masthead.features.posts.tag_records import tags
from masthead.features.statistics.storing import LIST
from masthead.identity.tenants import superusers
from masthead.web.request import Viewed

PER_PAGE = 15
PER_ARCHIVE_PAGE = 100
MAX_SEARCH = 200
"""Characters of a search."""
TAG, AUTHOR, ARCHIVE, SEARCH = (
    Viewed(LIST, name) for name in ("tag", "author", "archive", "search")
)


async def tag(request: SiteRequest, slug: str) -> Page:
    found, pager = await list_posts(request, PER_PAGE, (TAG_LIST, slug))
    if not found:
        raise NotFound(words("No post has this tag."))
    cards = await cards_of(request, found)
    name = next(link.label for link in cards[0].tags if tag_slug(link.label) == slug)
    site = site_of(request)
    feed = Link(f"{name}, {site.name}", f"{site.root}/tags/{quote(slug)}/feed.xml")
    kept = await request.records.find_one(tags, {"name": name}, tenant_id=request.tenant_id)
    description = kept["description"] if kept else ""
    picture = await _picture_of(request, kept)
    head = Head(
        title=f"{name} · {site.name}",
        description=description[:160],
        feeds=(feed,),
        image=absolute(site, picture),
    )
    page = ListPage(name, description, cards, pager, picture=picture)
    return Page("list.html", head, page, viewed=TAG)


async def _picture_of(request: SiteRequest, kept: Record | None) -> str:
    if kept is None or kept["picture"] not in await pictures_of(request, [kept["picture"]]):
        return ""
    return small(kept["picture"], "400x400")


async def author(request: SiteRequest, slug: str) -> Page:
    staff = await request.records.page(
        request.caller,
        superusers,
        ListRequest(per_page=1, filter=_equals("slug", slug), skip_total=True),
    )
    if not staff.items:
        raise NotFound(words("There is no such author."))
    account = staff.items[0]
    listings = [(AUTHOR_LIST, account["id"])]
    if account["id"] == request.tenant_record["owner_id"]:
        # What names no author is the owner's.
        listings.append((AUTHOR_LIST, ""))
    found, pager = await list_posts(request, PER_PAGE, *listings)
    pictures = await pictures_of(request, [account["picture"]])
    who, site = author_of(request.root, account, pictures, "400x400"), site_of(request)
    head = Head(
        title=f"{who.name} · {site.name}",
        description=who.bio[:160],
        image=absolute(site, who.picture),
    )
    cards = await cards_of(request, found)
    page = ListPage(who.name, who.bio, cards, pager, who)
    return Page("list.html", head, page, viewed=AUTHOR)


async def archive(request: SiteRequest) -> Page:
    found, pager = await list_posts(request, PER_ARCHIVE_PAGE)
    cards = await cards_of(request, found)
    months = tuple(
        Month(f"{year}-{month:02}", tuple(group))
        for (year, month), group in groupby(cards, key=_month)
    )
    head = Head(
        title=page_title(request, words("Archive")),
        translations=() if pager.newer else in_all_languages(request, "/archive"),
    )
    return Page("archive.html", head, ArchivePage(months, (), pager), viewed=ARCHIVE)


def _month(card: Card) -> tuple[int, int]:
    return card.published.year, card.published.month


async def search(request: SiteRequest) -> Page:
    query = " ".join(request.query.get("q", "").split())[:MAX_SEARCH]
    cards: tuple[Card, ...] = ()
    if query:
        names = CARD_FIELDS | {"content_html"}
        limit = request.services.read_limit
        limit.check(request.address)
        try:
            found = await request.first(
                posts, 20, search=query, names=names, filter=in_edition(request)
            )
            cards = await asyncio.to_thread(
                with_places, await cards_of(request, found), found, query
            )
        except BadRequest:
            # More words than a search takes: nothing has them all.
            cards = ()
        if not cards:
            await limit.count(request.address)
    head = Head(title=page_title(request, words("Search")), noindex=True)
    return Page("search.html", head, SearchPage(query, cards), is_cached=False, viewed=SEARCH)


def _equals(name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name} = '{escaped}'"
