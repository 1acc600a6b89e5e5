"""Where the old addresses of an imported site lead, and whether something is there."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from masthead.engine.records.engine import Records
from masthead.faces.importers.source import Kind
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.features.media.collection import media
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.posts.site import TAG_LIST, tag_slug
from masthead.identity.tenants import superusers

FEED: Final = "/feed.xml"
ATOM: Final = "/atom.xml"
BEFORE: Final = "before"
"""The parameter of the archive that names the day before which its posts were published."""
ARCHIVE: Final = "/archive"
"""For lists without a counterpart here: a tag without published posts, an author who was not
imported."""
_POSTS: Final = "/posts/"
_TAGS: Final = "/tags/"
_AUTHORS: Final = "/authors/"
_MEDIA: Final = "/media/"


def new_path(slug: str, kind: Kind = "post") -> str:
    return f"{_POSTS}{slug}" if kind == "post" else f"/{slug}"


def tag_path(name: str) -> str:
    return f"{_TAGS}{tag_slug(name)}"


def author_path(slug: str) -> str:
    return f"{_AUTHORS}{slug}"


def is_of_picture(destination: str) -> bool:
    return destination.startswith(_MEDIA)


async def has_tag(records: Records, unit: AnyUnit, name: str) -> bool:
    """Whether a tag has a page: a published post has it."""
    position = await records.next_position(unit.tenant_id, posts, (TAG_LIST, tag_slug(name)), "")
    return bool("" < position <= unit.now)


async def is_there(records: Records, unit: AnyUnit, destination: str) -> bool:
    """Whether what the destination shows still exists. The archive and the feeds do not belong to a
    single import."""
    path = unquote(destination.partition("?")[0])
    if path in (FEED, ATOM, ARCHIVE):
        return False
    first, _, rest = path[1:].partition("/")
    name = rest.partition("/")[0]
    if path.startswith(_POSTS):
        return bool(await unit.find(posts, {"slug": rest}, limit=1))
    if path.startswith(_TAGS):
        return await has_tag(records, unit, name)
    if path.startswith(_AUTHORS):
        return bool(await unit.find(superusers, {"slug": rest}, limit=1))
    if path.startswith(_MEDIA):
        return bool(await unit.find(media, {"id": name}, limit=1))
    return bool(await unit.find(pages, {"slug": first}, limit=1))
