"""The front page: a lead story, a few more with pictures, and the rest as lines."""

from __future__ import annotations

from masthead.faces.reader.cards import cards_of, list_posts
from masthead.faces.reader.endpoint import Page
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import absolute, json_ld, shown_site
from masthead.faces.reader.views import Head, HomePage
from masthead.features.statistics.storing import LIST
from masthead.web.request import Viewed

CARDS = 3
LINES = 10
HOME = Viewed(LIST, "home")


async def home(request: SiteRequest) -> Page:
    found, pager = await list_posts(request, 1 + CARDS + LINES)
    cards = await cards_of(request, found)
    site = await shown_site(request)
    head = Head(
        title=site.name,
        description=site.description,
        image=absolute(site, site.logo),
        data=json_ld(
            {
                "@context": "https://schema.org",
                "@type": "WebSite",
                "name": site.name,
                "url": site.url + "/",
                "description": site.description,
            }
        ),
    )
    if pager.newer:
        page = HomePage(None, (), cards, pager)
    else:
        page = HomePage(
            cards[0] if cards else None, cards[1 : 1 + CARDS], cards[1 + CARDS :], pager
        )
    return Page("home.html", head, page, viewed=HOME)
