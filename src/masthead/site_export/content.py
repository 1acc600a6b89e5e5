"""What one tenant has, read a page at a time for whoever writes it down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
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
from masthead.records.engine import ListRequest, Records
from masthead.records.write.unit import file_key
from masthead.site.address import Sites
from masthead.site.collection import site_settings
from masthead.site_export.media_links import MediaLinks
from masthead.storage.objects import ObjectStore, StoredObject

TEXTS_PER_PAGE = 20
"""Posts and pages in memory at a time; one may hold megabytes."""
ROWS_PER_PAGE = 500

_ALWAYS = ("id", "created", "updated")
_TEXT = (*_ALWAYS, "title", "slug", "content_html", "status", "published_at")
_POST = (*_TEXT, "excerpt", "visibility", "tags", "featured_image", "seo_title", "seo_description")
_MEMBER = (*_ALWAYS, "email", "name", "tier", "status", "newsletter", "payment_customer_id")
_MEDIA = (*_ALWAYS, "file", "url", "filename", "mime_type", "size", "alt")

_OF_A_POST = {"excerpt": "", "visibility": "public", "featured_image": ""}
_OF_A_POST |= {"seo_title": "", "seo_description": ""}

Tell = Callable[[str, int], None]
"""Told of each page that was handed out: 'posts', 'pages', 'members' or 'media', and how many."""


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
    """The site itself."""

    slug: str
    name: str
    description: str
    url: str
    """Without a slash at its end."""
    hosts: frozenset[str]
    """Every host, with its port, that may stand in the address of one of its files."""
    owner_email: str
    now: str
    """The moment of the export: what is published later than that is scheduled."""


class Content:
    """Reads in the engine's default order by cursor. A record that is there all the while is handed
    out exactly once, whatever others write meanwhile; hashes and secrets stay inside."""

    def __init__(
        self, services: ExportServices, tenant_id: TenantId, blog: Blog, tell: Tell
    ) -> None:
        self.blog = blog
        self.links = MediaLinks(blog.hosts)
        self.counts = dict.fromkeys(("posts", "pages", "members", "media"), 0)
        self.missing_files = 0
        self._records = services.records
        self._objects = services.objects
        self._tenant_id = tenant_id
        self._tell = tell

    async def posts(self) -> AsyncIterator[list[Record]]:
        async for found in self._all("posts", posts, _POST, TEXTS_PER_PAGE):
            # Lists come as the JSON they are stored in, for answers that pass it on.
            yield [{**each, "tags": msgspec.json.decode(each["tags"])} for each in found]

    async def pages(self) -> AsyncIterator[list[Record]]:
        """With a post's fields that a page does not have as well, all of them empty."""
        async for found in self._all("pages", pages, _TEXT, TEXTS_PER_PAGE):
            yield [{**_OF_A_POST, "tags": [], **each} for each in found]

    def members(self) -> AsyncIterator[list[Record]]:
        return self._all("members", blog_members, _MEMBER, ROWS_PER_PAGE)

    def media(self) -> AsyncIterator[list[Record]]:
        return self._all("media", media, _MEDIA, ROWS_PER_PAGE)

    async def media_in(self, texts: Iterable[Record]) -> Mapping[str, Record]:
        """The media that posts or pages link to or have as their picture, by id."""
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
        """The bytes of a media record as a stream; None, and counted, when they are gone."""
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
                per_page=per_page, after=after, names=frozenset(names), skip_total=True
            )
            found = (await self._records.page(system(self._tenant_id), collection, wanted)).items
            if found:
                yield found
                self.counts[kind] += len(found)
                self._tell(kind, len(found))
            if len(found) < per_page:
                return
            after = (found[-1]["created"], found[-1]["id"])


async def totals(services: ExportServices, tenant_id: TenantId) -> dict[str, int]:
    """How many there are of each kind right now, for a progress bar."""
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
