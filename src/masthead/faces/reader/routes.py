"""The addresses of the reader's site."""

from __future__ import annotations

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.faces.reader.cards import BEFORE
from masthead.faces.reader.discussion import READ
from masthead.faces.reader.endpoint import Result, SitePages
from masthead.faces.reader.feeds import atom, json_feed, rss
from masthead.faces.reader.machines import robots, sitemap_index, sitemap_month, sitemap_pages
from masthead.faces.reader.markdown import SUFFIX, llms, page_as_markdown, post_as_markdown
from masthead.faces.reader.pages import html_cards
from masthead.faces.reader.pages.comments import delete_comment, edit_comment, post_comment
from masthead.faces.reader.pages.gifts import GIFT, buy_gift, gift_page
from masthead.faces.reader.pages.home import home
from masthead.faces.reader.pages.lists import archive, author, search, tag
from masthead.faces.reader.pages.offers import OFFERS, offer, take_offer
from masthead.faces.reader.pages.share import EMBEDDING, oembed, share_picture
from masthead.faces.reader.pages.texts import post, text_page
from masthead.faces.reader.pages.tiers import TIERS, billing, old_address, tiers, upgrade
from masthead.faces.reader.redirects import PLAIN_ADDRESSES
from masthead.faces.reader.request import SiteRequest
from masthead.features.pages.addresses import FACES
from masthead.web.answers import Answer
from masthead.web.dispatch import ANY_METHOD, Action, Route
from masthead.web.errors import MethodNotAllowed, unknown_path
from masthead.web.pages import prefers_markdown
from masthead.web.policy import Limit, Origin, Policy, WhileSuspended, Who
from masthead.web.request import Request


def reader_routes(pages: SitePages) -> list[Route]:
    def has_posted(request: Request) -> bool:
        return bool(pages.services.posted_comments.of(request))

    return [
        pages.page("/", home, query=(BEFORE, *PLAIN_ADDRESSES)),
        pages.page("/archive", archive, query=(BEFORE,)),
        pages.page("/search", search, query=("q",)),
        pages.page("/posts/{slug}.md", post_as_markdown, "slug", for_guests=True),
        pages.page(
            "/posts/{slug}",
            post,
            "slug",
            query=READ,
            personal=has_posted,
            markdown=post_as_markdown,
        ),
        pages.form("/posts/{slug}/comments", post_comment, "slug", limit=Limit.COMMENTS),
        pages.form("/posts/{slug}/comments/{id}", edit_comment, "slug", "id"),
        pages.form("/posts/{slug}/comments/{id}/delete", delete_comment, "slug", "id"),
        pages.page("/tags/{slug}", tag, "slug", query=(BEFORE,)),
        pages.page("/authors/{slug}", author, "slug", query=(BEFORE,)),
        pages.page(TIERS, tiers, query=("back",)),
        pages.page("/member/plans", old_address),
        pages.form("/member/upgrade", upgrade),
        pages.form(f"{OFFERS}{{code}}", take_offer, "code", page=offer),
        pages.form(GIFT, buy_gift, page=gift_page),
        pages.form("/member/billing", billing, while_suspended=WhileSuspended.OPEN),
        pages.page("/feed.xml", rss, for_guests=True),
        pages.page("/atom.xml", atom, for_guests=True),
        pages.page("/feed.json", json_feed, for_guests=True),
        pages.page("/tags/{slug}/feed.xml", rss, "slug", for_guests=True),
        pages.page("/tags/{slug}/atom.xml", atom, "slug", for_guests=True),
        pages.page("/tags/{slug}/feed.json", json_feed, "slug", for_guests=True),
        pages.page("/oembed", oembed, query=EMBEDDING, for_guests=True),
        pages.page("/share/{slug}/{digest}.png", share_picture, "slug", "digest", for_guests=True),
        pages.page(html_cards.PATH, html_cards.html_card, "kind", "id", "digest"),
        pages.page("/robots.txt", robots, for_guests=True),
        pages.page("/llms.txt", llms, for_guests=True),
        pages.page("/sitemap.xml", sitemap_index, for_guests=True),
        pages.page("/sitemap/pages.xml", sitemap_pages, for_guests=True),
        pages.page("/sitemap/{month}.xml", sitemap_month, "month", for_guests=True),
    ]


_ELSEWHERE = Policy(who=Who.VISITOR, origin=Origin.COOKIES)


def other_addresses(pages: SitePages) -> Route:
    """The route of all other addresses: pages at `/<slug>`, old addresses, and the site's own "not
    found"."""

    async def answer(request: Request) -> Answer:
        slug = request.own_path[1:]
        if slug.partition("/")[0] in FACES:
            raise unknown_path(request, words("There is no such address."))
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(("GET", "HEAD"))

        text, is_file = slug.removesuffix(SUFFIX), slug.endswith(SUFFIX)
        as_markdown = is_file or prefers_markdown(request)

        async def make(site_request: SiteRequest) -> Result:
            if not text or "/" in text:
                raise NotFound(words("There is nothing at this address."))
            draw = page_as_markdown if as_markdown else text_page
            return await draw(site_request, text)

        variant = "markdown" if as_markdown else ""
        return await pages.answer(request, make, for_guests=as_markdown, variant=variant)

    return Route("/{rest:path}", {ANY_METHOD: Action(answer, _ELSEWHERE)})
