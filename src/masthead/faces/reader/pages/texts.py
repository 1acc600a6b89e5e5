"""A post, and a page such as About."""

from __future__ import annotations

from urllib.parse import quote

from msgspec.structs import replace

from masthead.base.errors import NotFound
from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.reader import share_card
from masthead.faces.reader.cards import cards_of, local_time, own_language, related_to
from masthead.faces.reader.content import display
from masthead.faces.reader.discussion import discussion_of
from masthead.faces.reader.endpoint import Page, Redirect
from masthead.faces.reader.pages.html_cards import address_of
from masthead.faces.reader.pages.lists import _equals
from masthead.faces.reader.pictures import pictures_of
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.share_pictures import share_url
from masthead.faces.reader.site import absolute, json_ld, site_of
from masthead.faces.reader.tiers import offer_of
from masthead.faces.reader.translations import translations_of
from masthead.faces.reader.views import (
    Card,
    CommentForm,
    Head,
    Link,
    Picture,
    PostPage,
    Site,
    TextPage,
)
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import PostRecord, as_post
from masthead.features.statistics.storing import PAGE, POST
from masthead.web.request import Viewed

SHARED_WIDTH = 1200
"""A width that thumbs have."""


async def post(request: SiteRequest, slug: str) -> Page | Redirect:
    found = await by_slug(request, posts, slug)
    return moved(request, found, "/posts/") or await draw_post(request, found)


def moved(request: SiteRequest, text: Record, prefix: str, suffix: str = "") -> Redirect | None:
    """To the address in the text's own language; None if it is this one."""
    if text["edition"] == request.edition:
        return None
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    path = f"{root_of(text['edition'])}{prefix}{quote(text['slug'])}{suffix}"
    return Redirect(f"{path}{query}")


async def draw_post(request: SiteRequest, found: Record, form: CommentForm | None = None) -> Page:
    """`form`: the reader's comment that could not be taken."""
    record = as_post(found)
    [card] = await cards_of(request, [record])
    html = await display(
        request,
        record["content_html"],
        starts_page=card.picture is None,
        html_cards=address_of(posts, record["id"]),
    )
    offer = None if card.is_open else await offer_of(request, record["tiers"])
    discussion = await discussion_of(request, record, form)
    modified = local_time(request, record["updated"])
    # Only its own excerpt: the beginning of the text follows below.
    shown = replace(card, excerpt=record["excerpt"])
    related = await related_to(request, record["id"])
    language = card.language
    page = PostPage(shown, html, modified, discussion, related, offer=offer, language=language)
    viewed = Viewed(POST, record["id"])
    translations = await translations_of(request, card.url, record)
    head = _post_head(request, record, card, translations)
    return Page("post.html", head, page, viewed=viewed)


async def text_page(request: SiteRequest, slug: str) -> Page | Redirect:
    found = await by_slug(request, pages, slug)
    return moved(request, found, "/") or await draw_page(request, found)


async def draw_page(request: SiteRequest, record: Record) -> Page:
    address = record["featured_image"]
    picture = (await pictures_of(request, [address])).get(address)
    html = await display(
        request,
        record["content_html"],
        starts_page=picture is None,
        html_cards=address_of(pages, record["id"]),
    )
    language = own_language(request, record)
    page = TextPage(record["title"], html, record["excerpt"], picture, language=language)
    site = site_of(request)
    image, image_width, image_height = _shared(site, picture) if picture else ("", 0, 0)
    path = f"{site.root}/{quote(record['slug'])}"
    head = Head(
        title=record["seo_title"] or f"{record['title']} · {site.name}",
        description=record["seo_description"] or record["excerpt"][:160],
        image=image,
        image_width=image_width,
        image_height=image_height,
        translations=await translations_of(request, path, record),
    )
    return Page("page.html", head, page, viewed=Viewed(PAGE, record["id"]))


async def by_slug(request: SiteRequest, collection: Collection, slug: str) -> Record:
    wanted = ListRequest(per_page=1, filter=_equals("slug", slug), skip_total=True)
    found = await request.records.page(request.caller, collection, wanted)
    if not found.items:
        raise NotFound
    return found.items[0]


def shared_image(request: SiteRequest, post: PostRecord, card: Card) -> tuple[str, int, int]:
    """The address of the picture that other sites show, with its size or zeros; empty for none."""
    site, picture = site_of(request), card.picture
    if picture is None:
        drawn = share_url(request, post)
        return (site.url + drawn, *share_card.SIZE) if drawn else ("", 0, 0)
    return _shared(site, picture)


def _shared(site: Site, picture: Picture) -> tuple[str, int, int]:
    if picture.sources and picture.width > SHARED_WIDTH:
        # Other sites refuse files of many megabytes.
        height = round(picture.height * SHARED_WIDTH / picture.width)
        return f"{site.url}{picture.src}?thumb={SHARED_WIDTH}x0", SHARED_WIDTH, height
    return absolute(site, picture.src), picture.width, picture.height


def _post_head(
    request: SiteRequest, post: PostRecord, card: Card, translations: tuple[Link, ...]
) -> Head:
    site = site_of(request)
    url = site.url + card.url
    description = post["seo_description"] or card.excerpt[:160]
    image, image_width, image_height = shared_image(request, post, card)
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
        "inLanguage": post["language"] or site.language,
        **({"image": image} if image else {}),
    }
    return Head(
        title=post["seo_title"] or f"{card.title} · {site.name}",
        description=description,
        image=image,
        image_width=image_width,
        image_height=image_height,
        kind="article",
        embedding=f"{site.url}/oembed?url={quote(url, safe='')}",
        published=post["published_at"],
        modified=post["updated"],
        data=json_ld(data),
        translations=translations,
    )
