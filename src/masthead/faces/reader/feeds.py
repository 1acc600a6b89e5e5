"""RSS, Atom and JSON Feed of the newest posts, of the whole site or of a tag.

A feed contains only what a guest can read, even for signed-in members, because feed readers store
it."""

from __future__ import annotations

import re
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from masthead.base.errors import NotFound
from masthead.base.languages.words import as_text, words
from masthead.engine.records.collection import Record
from masthead.faces.reader.cards import CARD_FIELDS, cards_of
from masthead.faces.reader.content import for_reader, in_a_feed
from masthead.faces.reader.endpoint import Document
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.faces.reader.views import Site
from masthead.features.posts.collection import posts
from masthead.features.posts.site import PUBLISHED_LIST, TAG_LIST, of_edition

ENTRIES = 20
MAX_BYTES = 4 * 1024 * 1024
"""The most bytes of the texts in a feed; beyond that it has fewer entries."""
_FIELDS = CARD_FIELDS | {"content_html", "updated"}
# XML 1.0 has no form for these.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class Entry(msgspec.Struct, frozen=True):
    id: str
    title: str
    url: str
    published: str
    updated: str
    rfc822: str
    summary: str
    html: str
    authors: tuple[str, ...]
    tags: tuple[str, ...]
    image: str


class Feed(msgspec.Struct, frozen=True):
    title: str
    description: str
    language: str
    page: str
    """The address of the page that the feed is of."""
    url: str
    """The feed's own address."""
    updated: str
    entries: tuple[Entry, ...]


async def rss(request: SiteRequest, tag: str = "") -> Document:
    feed = await _feed(request, tag)
    return Document(_xml("rss.xml", feed), b"application/rss+xml; charset=utf-8")


async def atom(request: SiteRequest, tag: str = "") -> Document:
    feed = await _feed(request, tag)
    return Document(_xml("atom.xml", feed), b"application/atom+xml; charset=utf-8")


async def json_feed(request: SiteRequest, tag: str = "") -> Document:
    feed = await _feed(request, tag)
    body = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "home_page_url": feed.page,
        "feed_url": feed.url,
        "description": feed.description,
        "language": feed.language,
        "items": [_item(entry) for entry in feed.entries],
    }
    return Document(
        msgspec.json.encode(body, enc_hook=as_text), b"application/feed+json; charset=utf-8"
    )


def _item(entry: Entry) -> dict[str, object]:
    item: dict[str, object] = {
        "id": entry.id,
        "url": entry.url,
        "title": entry.title,
        "date_published": entry.published,
        "date_modified": entry.updated,
        "authors": [{"name": name} for name in entry.authors],
        "tags": list(entry.tags),
    }
    if entry.html:
        item["content_html"] = entry.html
    else:
        item["content_text"] = entry.summary
    if entry.summary:
        item["summary"] = entry.summary
    if entry.image:
        item["image"] = entry.image
    return item


async def _feed(request: SiteRequest, tag: str) -> Feed:
    site = site_of(request)
    listing = of_edition((TAG_LIST, tag) if tag else (PUBLISHED_LIST, ""), request.edition)
    found = await request.first(posts, ENTRIES, listing=listing, names=_FIELDS)
    if tag and not found:
        raise NotFound(words("No post has this tag."))
    entries = await _entries(request, site, found)
    name = tag if tag else ""
    return Feed(
        title=f"{site.name}: {name}" if name else site.name,
        description=site.description,
        language=site.language,
        page=f"{site.url}{site.root}/tags/{quote(tag)}" if tag else f"{site.url}{site.root}/",
        url=site.url + quote(request.path),
        updated=max((entry.updated for entry in entries), default="1970-01-01T00:00:00.000Z"),
        entries=entries,
    )


async def _entries(request: SiteRequest, site: Site, found: list[Record]) -> tuple[Entry, ...]:
    cards = await cards_of(request, found)
    entries: list[Entry] = []
    size = 0
    for post, card in zip(found, cards, strict=True):
        size += len(post["content_html"])
        if size > MAX_BYTES and entries:
            break
        image = post["featured_image"] if card.picture else ""
        entries.append(
            Entry(
                id=f"tag:{request.tenant.id},{post['published_at'][:10]}:{post['id']}",
                title=card.title,
                url=site.url + card.url,
                published=post["published_at"],
                updated=post["updated"],
                rfc822=format_datetime(card.published),
                summary=card.excerpt,
                html=await in_a_feed(
                    await for_reader(request, post["content_html"]), site.url, site.url + card.url
                ),
                authors=tuple(each.name for each in card.authors),
                tags=tuple(link.label for link in card.tags),
                image=site.url + image if image.startswith("/") else image,
            )
        )
    return tuple(entries)


def _xml(template: str, feed: Feed) -> bytes:
    return xml(template, feed=feed)


def xml(template: str, **values: object) -> bytes:
    text = _environment.get_template(template).render(values)
    return _CONTROL.sub("", text).encode("utf-8", "replace")


_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
