"""The front page: a lead story, a few more with pictures, and the rest as lines; or all posts in a
grid, or as lines."""

from __future__ import annotations

from masthead.faces.reader.cards import cards_of, list_posts
from masthead.faces.reader.endpoint import Page
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import absolute, in_all_languages, json_ld, shown_site
from masthead.faces.reader.views import Head, HomePage
from masthead.features.statistics.storing import LIST
from masthead.web.request import Viewed

CARDS = 3
LINES = 10
GRID = 12
"""Cards: in rows of two, three or four, no row lacks one."""
HOME = Viewed(LIST, "home")


async def home(request: SiteRequest) -> Page:
    site = await shown_site(request)
    in_grid = site.home_layout == "grid"
    found, pager = await list_posts(request, GRID if in_grid else 1 + CARDS + LINES)
    cards = await cards_of(request, found)
    head = Head(
        title=site.name,
        description=site.description,
        image=absolute(site, site.logo),
        translations=() if pager.newer else in_all_languages(request, "/"),
        data=json_ld(
            {
                "@context": "https://schema.org",
                "@type": "WebSite",
                "name": site.name,
                "url": f"{site.url}{site.root}/",
                "description": site.description,
            }
        ),
    )
    if in_grid:
        page = HomePage(None, cards, (), pager)
    elif pager.newer or site.home_layout == "list":
        page = HomePage(None, (), cards, pager)
    else:
        page = HomePage(
            cards[0] if cards else None, cards[1 : 1 + CARDS], cards[1 + CARDS :], pager
        )
    return Page("home.html", head, page, viewed=HOME)
