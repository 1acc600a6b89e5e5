"""A post, and a page such as About."""

from __future__ import annotations

from masthead.errors import NotFound
from masthead.pages.collection import pages
from masthead.posts.collection import posts
from masthead.reader.cards import cards_of, local_time
from masthead.reader.content import displayed
from masthead.reader.endpoint import Drawn
from masthead.reader.pages.lists import _equals
from masthead.reader.plans import offer_of
from masthead.reader.request import SiteRequest
from masthead.reader.site import json_ld, site_of
from masthead.reader.views import Card, Head, PostPage, Site, TextPage
from masthead.records.collection import Collection, Record
from masthead.records.engine import ListRequest


async def post(request: SiteRequest, slug: str) -> Drawn:
    record = await _by_slug(request, posts, slug)
    [card] = await cards_of(request, [record])
    html = await displayed(record["content_html"])
    offer = None if card.is_open else await offer_of(request)
    page = PostPage(card, html, local_time(request, record["updated"]), offer=offer)
    return Drawn("post.html", _post_head(site_of(request), record, card), page)


async def text_page(request: SiteRequest, slug: str) -> Drawn:
    record = await _by_slug(request, pages, slug)
    page = TextPage(record["title"], await displayed(record["content_html"]))
    head = Head(title=f"{record['title']} · {site_of(request).name}")
    return Drawn("page.html", head, page)


async def _by_slug(request: SiteRequest, collection: Collection, slug: str) -> Record:
    wanted = ListRequest(per_page=1, filter=_equals("slug", slug), skip_total=True)
    found = await request.records.page(request.caller, collection, wanted)
    if not found.items:
        raise NotFound
    return found.items[0]


def _post_head(site: Site, post: Record, card: Card) -> Head:
    url = site.url + card.url
    description = post["seo_description"] or card.excerpt[:160]
    image = absolute(site, post["featured_image"])
    data = {
        "@context": "https://schema.org",
        "@type": "BlogPosting",
        "headline": card.title,
        "description": description,
        "url": url,
        "mainEntityOfPage": url,
        "datePublished": post["published_at"],
        "dateModified": post["updated"],
        "author": [{"@type": "Person", "name": each.name} for each in card.authors],
        "publisher": {"@type": "Organization", "name": site.name, "url": site.url + "/"},
        "isAccessibleForFree": post["visibility"] == "public",
        "keywords": [tag.label for tag in card.tags],
        "inLanguage": site.language,
        **({"image": image} if image else {}),
    }
    return Head(
        title=post["seo_title"] or f"{card.title} · {site.name}",
        description=description,
        image=image,
        kind="article",
        published=post["published_at"],
        modified=post["updated"],
        data=json_ld(data),
    )


def absolute(site: Site, address: str) -> str:
    """Other sites need the whole address of a picture."""
    return site.url + address if address.startswith("/") else address
