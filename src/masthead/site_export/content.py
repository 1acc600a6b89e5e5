"""Reads the content of one tenant, a page at a time, for the writers of the formats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from masthead.caller import system
from masthead.config.settings import Settings
from masthead.errors import NotFound
from masthead.identity.tenants import superusers
from masthead.ids import TenantId
from masthead.media.collection import media
from masthead.members.collection import blog_members
from masthead.pages.collection import pages
from masthead.posts.collection import posts
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.records.read.page import ListRequest
from masthead.records.write.unit import file_key
from masthead.site.address import Sites
from masthead.site.collection import site_settings
from masthead.site_export.media_links import MediaLinks
from masthead.storage.objects import ObjectStore, StoredObject

TEXTS_PER_PAGE = 20
"""Posts or pages in memory at a time; each may hold megabytes."""
FILES_PER_PAGE = 20
"""Media between two calls of `Count`; each may be a long video."""
ROWS_PER_PAGE = 500

_ALWAYS = ("id", "created", "updated")
_TEXT = (*_ALWAYS, "title", "slug", "content_html", "status", "published_at")
_POST = (*_TEXT, "excerpt", "visibility", "tags", "featured_image", "seo_title", "seo_description")
_MEMBER = (*_ALWAYS, "email", "name", "tier", "status", "newsletter", "payment_customer_id")
_MEDIA = (*_ALWAYS, "file", "url", "filename", "mime_type", "size", "alt")

_OF_A_POST = {"excerpt": "", "visibility": "public", "featured_image": ""}
_OF_A_POST |= {"seo_title": "", "seo_description": ""}

Count = Callable[[str, int], Awaitable[None]]
"""Called after each page with 'posts', 'pages', 'members' or 'media', and the number of records.
What it raises ends the export."""


class ExportServices(Protocol):
    @property
    def records(self) -> Records: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def sites(self) -> Sites: ...


@dataclass(frozen=True, slots=True)
class Blog:
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
        self, services: ExportServices, tenant_id: TenantId, blog: Blog, count: Count
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
        async for found in self._all("posts", posts, _POST, TEXTS_PER_PAGE):
            # A page returns lists as stored JSON.
            yield [{**each, "tags": msgspec.json.decode(each["tags"])} for each in found]

    async def pages(self) -> AsyncIterator[list[Record]]:
        """With empty values for the fields that only posts have."""
        async for found in self._all("pages", pages, _TEXT, TEXTS_PER_PAGE):
            yield [{**_OF_A_POST, "tags": [], **each} for each in found]

    def members(self) -> AsyncIterator[list[Record]]:
        return self._all("members", blog_members, _MEMBER, ROWS_PER_PAGE)

    def media(self) -> AsyncIterator[list[Record]]:
        return self._all("media", media, _MEDIA, FILES_PER_PAGE)

    async def media_in(self, texts: Iterable[Record]) -> Mapping[str, Record]:
        """By id: the media that posts or pages link to or use as featured image."""
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
        found = await self._records.related(
            system(self._tenant_id), media, "id", keys, limit=len(keys)
        )
        return {each["id"]: each for each in found}

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
        after: tuple[str, str] | None = None
        while True:
            wanted = ListRequest(
                per_page=per_page,
                after=after,
                names=frozenset(names),
                skip_total=True,
                rendered=True,
            )
            found = (await self._records.page(system(self._tenant_id), collection, wanted)).items
            if found:
                yield found
                self.counts[kind] += len(found)
                await self._count(kind, len(found))
            if len(found) < per_page:
                return
            after = (found[-1]["created"], found[-1]["id"])


async def totals(services: ExportServices, tenant_id: TenantId) -> dict[str, int]:
    """The number of records of each kind, for a progress bar."""
    found = {}
    for kind, each in _KINDS.items():
        wanted = ListRequest(per_page=1, names=frozenset({"id"}))
        found[kind] = (await services.records.page(system(tenant_id), each, wanted)).total
    return found


_KINDS = {"posts": posts, "pages": pages, "members": blog_members, "media": media}


async def blog_of(services: ExportServices, tenant: Record, now: str) -> Blog:
    tenant_id = TenantId(tenant["id"])
    site = await services.sites.of(tenant_id)
    stored = await services.records.find(site_settings, {}, tenant_id=tenant_id)
    owner = await services.records.find(superusers, {"id": tenant["owner_id"]}, tenant_id=tenant_id)
    return Blog(
        slug=tenant["slug"],
        name=site.name,
        description=stored[0]["site_description"] if stored else "",
        url=site.url,
        hosts=_hosts(services.settings, tenant["slug"], site.url),
        owner_email=owner[0]["email"] if owner else f"owner@{urlsplit(site.url).hostname}",
        now=now,
    )


def _hosts(settings: Settings, slug: str, url: str) -> frozenset[str]:
    port = urlsplit(settings.base_url).port
    own = f"{slug}.{settings.base_domain}" + (f":{port}" if port else "")
    return frozenset({own, urlsplit(url).netloc})
