"""A text that is not on the site yet, as its page would show it, and the site in a design that is
not saved: made by the functions and the theme of those pages, only for the admin.

It is neither cached nor counted, and readers can't reach it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from masthead.base.caller import Reader
from masthead.content.html.clean_texts import clean_or_plain
from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Collection, Record
from masthead.faces.reader.cards import list_posts
from masthead.faces.reader.endpoint import Page
from masthead.faces.reader.pages.home import home
from masthead.faces.reader.pages.texts import by_slug, draw_page, draw_post
from masthead.faces.reader.request import ReaderServices, SiteRequest, open_request
from masthead.faces.reader.site import ANY_FORM_TOKEN, chrome_of, shown_site
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.posts.site import lists_show
from masthead.features.site.record_view import as_settings
from masthead.identity.directory import Tenant
from masthead.web.request import Request

_DRAWN: Mapping[str, Callable[[SiteRequest, Record], Awaitable[Page]]] = {
    posts.name: draw_post,
    pages.name: draw_page,
}
_PREFIXES = {posts.name: "/posts/", pages.name: "/"}
_AS_JSON = ("tags", "translations")
"""Pages get these as the database has them."""


class Previews(msgspec.Struct, frozen=True):
    services: ReaderServices

    async def page(
        self, sent: Request, tenant: Tenant, reader: Reader, texts: Collection, *, text: Record
    ) -> bytes:
        """`text` has all of the collection's fields: who may see it was checked before."""
        path = _PREFIXES[texts.name] + quote(text["slug"])
        request = await self._open(sent, tenant, reader, path, root=root_of(text["edition"]))
        return await self._draw(request, await _drawn(request, texts, text))

    async def site(
        self,
        sent: Request,
        tenant: Tenant,
        reader: Reader,
        *,
        settings: Record,
        shows_post: bool = False,
    ) -> bytes:
        """The home page, or the newest post, with settings that are not saved."""
        request = await self._open(sent, tenant, reader, "/")
        request.site_record = as_settings(settings)
        newest, _ = await list_posts(request, 1, first_page=True) if shows_post else ([], None)
        if newest:
            slug = newest[0]["slug"]
            request.path = _PREFIXES[posts.name] + quote(slug)
            shown = await draw_post(request, await by_slug(request, posts, slug))
            return await self._draw(request, shown)
        return await self._draw(request, await home(request))

    async def _open(
        self, sent: Request, tenant: Tenant, reader: Reader, path: str, *, root: str = ""
    ) -> SiteRequest:
        # Nothing of the admin's own address is for the page.
        visited = Request(
            {**sent.scope, "path": root + path, "query_string": b""},
            sent.receive,
            tenant=tenant,
            address=sent.address,
            is_https=sent.is_https,
        )
        visited.language_root = root
        request = await open_request(self.services, tenant, reader, visited)
        request.is_preview = True
        return request

    async def _draw(self, request: SiteRequest, drawn: Page) -> bytes:
        head = replace(drawn.head, noindex=True, is_preview=True)
        theme = request.site_record["theme"]
        chrome = chrome_of(request, head, await shown_site(request))
        body = self.services.themes.render(theme, drawn.template, chrome, drawn.page)
        # A preview belongs to no sign-in of a reader: its forms can't be sent.
        return body.replace(ANY_FORM_TOKEN, "").encode()


async def _drawn(request: SiteRequest, texts: Collection, text: Record) -> Page:
    shown = {**text, "content_html": await clean_or_plain(text["content_html"])}
    return await _DRAWN[texts.name](request, _on_the_site(texts, shown, request))


def _on_the_site(texts: Collection, text: Record, request: SiteRequest) -> Record:
    """As the site's own pages read it, for the reader of this preview."""
    site = texts.site
    assert site is not None
    shown: dict[str, Any] = {"id": text["id"], **{name: text[name] for name in site.fields}}
    # Of a draft, the time at which it would be published.
    shown["published_at"] = text["published_at"] or text.get("scheduled_for") or request.now
    if texts is posts:
        shown |= lists_show(text)
    shown |= {name: msgspec.json.encode(shown[name]) for name in _AS_JSON if name in shown}
    return site.show(shown, request.reader)
