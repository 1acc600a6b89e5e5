"""The addresses of the reader's site."""

from __future__ import annotations

from starlette.types import Receive, Scope

from masthead.errors import NotFound
from masthead.pages.addresses import FACES
from masthead.reader.cards import BEFORE
from masthead.reader.discussion import READ
from masthead.reader.endpoint import Result, SitePages
from masthead.reader.feeds import atom, json_feed, rss
from masthead.reader.machines import robots, sitemap_index, sitemap_month, sitemap_pages
from masthead.reader.pages.comments import delete_comment, edit_comment, post_comment
from masthead.reader.pages.home import home
from masthead.reader.pages.lists import archive, author, search, tag
from masthead.reader.pages.share import EMBEDDING, oembed, share_picture
from masthead.reader.pages.texts import post, text_page
from masthead.reader.pages.tiers import TIERS, billing, old_address, tiers, upgrade
from masthead.reader.redirects import PLAIN_ADDRESSES
from masthead.reader.request import SiteRequest
from masthead.web.answers import Answer, Endpoint
from masthead.web.dispatch import Route
from masthead.web.errors import unknown_path


def reader_routes(pages: SitePages) -> list[Route]:
    def has_posted(scope: Scope) -> bool:
        return bool(pages.services.posted_comments.of(scope))

    return [
        Route("/", pages.endpoint(home, query=(BEFORE, *PLAIN_ADDRESSES))),
        Route("/archive", pages.endpoint(archive, query=(BEFORE,))),
        Route("/search", pages.endpoint(search, query=("q",))),
        Route("/posts/{slug}", pages.endpoint(post, "slug", query=READ, personal=has_posted)),
        Route("/posts/{slug}/comments", pages.form(post_comment, "slug")),
        Route("/posts/{slug}/comments/{id}", pages.form(edit_comment, "slug", "id")),
        Route("/posts/{slug}/comments/{id}/delete", pages.form(delete_comment, "slug", "id")),
        Route("/tags/{slug}", pages.endpoint(tag, "slug", query=(BEFORE,))),
        Route("/authors/{slug}", pages.endpoint(author, "slug", query=(BEFORE,))),
        Route(TIERS, pages.endpoint(tiers)),
        Route("/member/plans", pages.endpoint(old_address)),
        Route("/member/upgrade", pages.form(upgrade)),
        Route("/member/billing", pages.form(billing)),
        Route("/feed.xml", pages.endpoint(rss, for_guests=True)),
        Route("/atom.xml", pages.endpoint(atom, for_guests=True)),
        Route("/feed.json", pages.endpoint(json_feed, for_guests=True)),
        Route("/tags/{slug}/feed.xml", pages.endpoint(rss, "slug", for_guests=True)),
        Route("/tags/{slug}/atom.xml", pages.endpoint(atom, "slug", for_guests=True)),
        Route("/tags/{slug}/feed.json", pages.endpoint(json_feed, "slug", for_guests=True)),
        Route("/oembed", pages.endpoint(oembed, query=EMBEDDING, for_guests=True)),
        Route(
            "/share/{slug}/{digest}.png",
            pages.endpoint(share_picture, "slug", "digest", for_guests=True),
        ),
        Route("/robots.txt", pages.endpoint(robots, for_guests=True)),
        Route("/sitemap.xml", pages.endpoint(sitemap_index, for_guests=True)),
        Route("/sitemap/pages.xml", pages.endpoint(sitemap_pages, for_guests=True)),
        Route("/sitemap/{month}.xml", pages.endpoint(sitemap_month, "month", for_guests=True)),
    ]


class OtherAddresses(Endpoint):
    """What no route has: pages at `/<slug>`, old addresses, and the site's own "not found"."""

    def __init__(self, pages: SitePages) -> None:
        self._pages = pages

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["path"][1:].partition("/")[0] in FACES:
            raise unknown_path(scope, "There is no such address.")
        slug = scope["path"][1:]

        async def make(request: SiteRequest) -> Result:
            if not slug or "/" in slug:
                raise NotFound("There is nothing at this address.")
            return await text_page(request, slug)

        return await self._pages.answer(scope, make)
