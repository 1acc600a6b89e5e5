"""Reads the content of one tenant, a page at a time, for the writers of the formats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.links.file_readers import is_open
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.read.page import ListRequest
from masthead.faces.site_export.media_links import MediaLinks
from masthead.features.comments.collection import DELETED, comments
from masthead.features.media.collection import media
from masthead.features.media.services import SharedServices
from masthead.features.media.signed_addresses import sign_file
from masthead.features.members.collection import blog_members
from masthead.features.pages.collection import pages
from masthead.features.payments.collection import tiers
from masthead.features.payments.levels import NAMELESS
from masthead.features.posts.collection import posts
from masthead.features.site.address import Sites
from masthead.features.site.collection import site_settings
from masthead.identity.tenants import superusers
from masthead.storage.objects import StoredObject

TEXTS_PER_PAGE = 20
"""Posts or pages in memory at a time; each may hold megabytes."""
FILES_PER_PAGE = 20
"""Media between two calls of `Count`; each may be a long video."""
ROWS_PER_PAGE = 500
FETCHED_WITHIN = timedelta(days=30)

_ALWAYS = ("id", "created", "updated")
_TEXT = (
    *(*_ALWAYS, "title", "slug", "content_html", "status", "published_at"),
    *("excerpt", "featured_image", "seo_title", "seo_description", "language", "edition"),
)
_POST = (*_TEXT, "visibility", "tiers", "tags", "authors", "scheduled_for", "email_only")
_MEMBER = (
    *(*_ALWAYS, "email", "name", "tier", "status", "newsletter", "payment_customer_id"),
    *("labels", "note", "tier_id", "language"),
)
_COMMENT = (
    *(*_ALWAYS, "post_id", "parent_id", "author_name", "author_email", "body", "status"),
    "shown_as",
)
_AUTHOR = frozenset({"id", "email", "name", "slug", "bio", "created", "updated"})
_MEDIA = (*_ALWAYS, "file", "url", "filename", "mime_type", "size", "alt", "private", "open_uses")

_OF_A_POST: dict[str, Any] = {
    "visibility": "public",
    "scheduled_for": "",
    "email_only": False,
}

Count = Callable[[str, int], Awaitable[None]]
"""Called after each page with 'posts', 'pages', 'members' or 'media', and the number of records.
What it raises ends the export."""


class Blog(msgspec.Struct, frozen=True):
    slug: str
    name: str
    description: str
    url: str
    """Without a trailing slash."""
    hosts: frozenset[str]
    """Hosts, with their port, that addresses of its files may have."""
    owner_email: str
    now: str
    """The time of the export. A post that is published later is scheduled."""


class Content:
    """Reads by cursor in the engine's default order, so that concurrent writes neither repeat nor
    hide a record. Hashes and secrets are not read."""

    def __init__(
        self, services: SharedServices, tenant_id: TenantId, blog: Blog, count: Count
    ) -> None:
        self.blog = blog
        self.links = MediaLinks(blog.hosts)
        self.counts = dict.fromkeys(("posts", "pages", "members", "media"), 0)
        self.missing_files = 0
        self._records = services.records
        self._objects = services.objects
        self._tenant_id = tenant_id
        self._count = count

    async def posts(self) -> AsyncIterator[list[Record]]:
        """With the names of their tiers."""
        names = {each["id"]: each["name"] for each in await self.tiers()}
        async for found in self._all("posts", posts, _POST, TEXTS_PER_PAGE):
            # A page returns lists as stored JSON.
            yield [
                {
                    **each,
                    **_decoded(each, "tags"),
                    # A tier that is gone has a name, too: the post is not for all paid members.
                    "tiers": [names.get(tier, NAMELESS) for tier in each["tiers"]],
                }
                for each in found
            ]

    async def tiers(self) -> list[Record]:
        return await self._records.first(
            system(self._tenant_id), tiers, ROWS_PER_PAGE, sort="created"
        )

    async def writers(self) -> list[Record]:
        """The staff who are named as authors of posts, by their addresses. Others stay unnamed."""
        names = frozenset({"id", "created", "authors"})
        wanted = ListRequest(per_page=ROWS_PER_PAGE, names=names, skip_total=True)
        ids = {
            author
            async for page in self._records.pages(system(self._tenant_id), posts, wanted)
            for post in page
            for author in post["authors"]
        }
        staff = await self._records.find_related(
            system(self._tenant_id), superusers, "id", sorted(ids), limit=len(ids), names=_AUTHOR
        )
        return sorted(staff, key=lambda each: str(each["email"]))

    async def comments_of(self, texts: Iterable[Record]) -> dict[str, list[Record]]:
        """The comments by post, the oldest first, so that a reply follows its comment."""
        ids = [each["id"] for each in texts]
        caller, names = system(self._tenant_id), frozenset(_COMMENT)
        found = await self._records.find_related(
            caller, comments, "post_id", ids, limit=ROWS_PER_PAGE, names=names
        )
        by_post: dict[str, list[Record]] = {}
        if len(found) < ROWS_PER_PAGE:
            for each in sorted(found, key=lambda each: (each["created"], each["id"])):
                by_post.setdefault(each["post_id"], []).append(each)
        else:
            for post_id in ids:
                by_post[post_id] = await self._all_comments(post_id)
        return {post_id: _without_deleted(each) for post_id, each in by_post.items()}

    async def _all_comments(self, post_id: str) -> list[Record]:
        wanted = ListRequest(
            per_page=ROWS_PER_PAGE,
            filter=f"post_id = '{post_id}'",
            sort="created",
            names=frozenset(_COMMENT),
            skip_total=True,
        )
        pages = self._records.pages(system(self._tenant_id), comments, wanted)
        return [each async for page in pages for each in page]

    async def pages(self) -> AsyncIterator[list[Record]]:
        """With empty values for the fields that only posts have."""
        async for found in self._all("pages", pages, _TEXT, TEXTS_PER_PAGE):
            yield [{**_OF_A_POST, "tiers": [], "tags": [], "authors": [], **each} for each in found]

    async def members(self) -> AsyncIterator[list[Record]]:
        """With the name of the tier that each has in `tier_name`; '' for none."""
        names = {each["id"]: each["name"] for each in await self.tiers()}
        async for found in self._all("members", blog_members, _MEMBER, ROWS_PER_PAGE):
            yield [
                {**each, **_decoded(each, "labels"), "tier_name": names.get(each["tier_id"], "")}
                for each in found
            ]

    def media(self) -> AsyncIterator[list[Record]]:
        return self._all("media", media, _MEDIA, FILES_PER_PAGE)

    async def media_in(self, texts: Iterable[Record]) -> Mapping[str, Record]:
        """The media by id that posts or pages link to or use as featured image."""
        keys = sorted(
            {
                link.media_id
                for each in texts
                for text in (each["content_html"], each["featured_image"])
                for link in self.links.find(text)
            }
        )
        if not keys:
            return {}
        found = await self._records.find_related(
            system(self._tenant_id), media, "id", keys, limit=len(keys)
        )
        return {each["id"]: each for each in found}

    def signature_of(self, item: Record) -> str:
        """For the address of a file that not everyone can open, in an export from which another
        platform fetches it; empty for one that everyone can."""
        if is_open(item):
            return ""
        until = clock.from_text(self.blog.now) + FETCHED_WITHIN
        return sign_file(self._records.keyring, self._tenant_id, item["id"], until)

    async def file_of(self, item: Record) -> StoredObject | None:
        """The file of a media record; None, and counted, where it is missing."""
        key = file_key(self._tenant_id, media, item["id"], item["file"])
        try:
            return await self._objects.get(key)
        except NotFound:
            self.missing_files += 1
            return None

    async def _all(
        self, kind: str, collection: Collection, names: tuple[str, ...], per_page: int
    ) -> AsyncIterator[list[Record]]:
        wanted = ListRequest(
            per_page=per_page, names=frozenset(names), skip_total=True, rendered=True
        )
        async for found in self._records.pages(system(self._tenant_id), collection, wanted):
            yield found
            self.counts[kind] += len(found)
            await self._count(kind, len(found))


def scheduled_for(record: Record, now: str) -> str:
    """When a text is to be published; '' for a draft that waits for nothing, and for what is
    published."""
    if record["status"] != PUBLISHED:
        return str(record["scheduled_for"])
    return str(record["published_at"]) if record["published_at"] > now else ""


def _decoded(record: Record, *names: str) -> dict[str, Any]:
    return {name: msgspec.json.decode(record[name]) for name in names}


def _without_deleted(thread: list[Record]) -> list[Record]:
    """The placeholder of a deleted comment is left out, and the replies to it move up."""
    gone: dict[str, str] = {}
    kept: list[Record] = []
    for each in thread:
        parent = each["parent_id"]
        parent = gone.get(parent, parent)
        if each["shown_as"] == DELETED:
            gone[each["id"]] = parent or ""
        else:
            kept.append({**each, "parent_id": parent})
    return kept


async def totals(services: SharedServices, tenant_id: TenantId) -> dict[str, int]:
    """The number of records of each kind, for a progress bar."""
    found = {}
    for kind, each in _KINDS.items():
        wanted = ListRequest(per_page=1, names=frozenset({"id"}))
        found[kind] = (await services.records.page(system(tenant_id), each, wanted)).total
    return found


_KINDS = {"posts": posts, "pages": pages, "members": blog_members, "media": media}


async def blog_of(services: SharedServices, tenant: Record, now: str) -> Blog:
    tenant_id = TenantId(tenant["id"])
    site = await Sites(services.records, services.settings).of(tenant_id)
    stored = await services.records.find_one(site_settings, {}, tenant_id=tenant_id)
    owner = await services.records.find_one(
        superusers, {"id": tenant["owner_id"]}, tenant_id=tenant_id
    )
    return Blog(
        slug=tenant["slug"],
        name=site.name,
        description=stored["site_description"] if stored else "",
        url=site.url,
        hosts=_hosts(services.settings, tenant["slug"], site.url),
        owner_email=owner["email"] if owner else f"owner@{urlsplit(site.url).hostname}",
        now=now,
    )


def _hosts(settings: Settings, slug: str, url: str) -> frozenset[str]:
    port = urlsplit(settings.base_url).port
    own = f"{slug}.{settings.base_domain}" + (f":{port}" if port else "")
    return frozenset({own, urlsplit(url).netloc})
