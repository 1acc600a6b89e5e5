"""The share picture and the oEmbed answer of a post, for other sites."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from markupsafe import Markup

from masthead.base.errors import NotFound
from masthead.base.languages.words import as_text, words
from masthead.faces.reader.cards import cards_of
from masthead.faces.reader.endpoint import Document, Redirect
from masthead.faces.reader.pages.texts import by_slug, shared_image
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.share_pictures import make_share_picture, share_url
from masthead.faces.reader.site import site_of
from masthead.faces.reader.views import Card, Site
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import as_post

EMBEDDING = ("format", "url", "maxwidth")
EMBED_WIDTH, EMBED_HEIGHT = 600, 200
"""The size of the card that another site shows, in CSS pixels."""
_JSON = b"application/json; charset=utf-8"


async def share_picture(request: SiteRequest, slug: str, digest: str) -> Document | Redirect:
    post = as_post(await by_slug(request, posts, slug))
    current = share_url(request, post)
    if not current:
        raise NotFound(words("There is no picture for this post."))
    if not current.endswith(f"/{digest}.png"):
        # The title or the site's colour has changed since.
        return Redirect(current, 302)
    return Document(await make_share_picture(request, post, digest), b"image/png")


async def oembed(request: SiteRequest) -> Document:
    """https://oembed.com: the title, authors and excerpt of a post, never its text."""
    if request.query.get("format", "json") != "json":
        return Document(b'{"error":"Only format=json is there."}', _JSON, 501)
    site = site_of(request)
    post = as_post(await by_slug(request, posts, _slug(site, request.query.get("url", ""))))
    [card] = await cards_of(request, [post])
    width = min(EMBED_WIDTH, _pixels(request.query.get("maxwidth", "")))
    body: dict[str, Any] = {
        "version": "1.0",
        "type": "rich",
        "title": card.title,
        "author_name": ", ".join(each.name for each in card.authors),
        "provider_name": site.name,
        "provider_url": f"{site.url}/",
        "html": _embedded(site, card),
        "width": width,
        "height": EMBED_HEIGHT,
    }
    image, image_width, image_height = shared_image(request, post, card)
    if image and image_width <= width:
        body |= {
            "thumbnail_url": image,
            "thumbnail_width": image_width,
            "thumbnail_height": image_height,
        }
    return Document(msgspec.json.encode(body, enc_hook=as_text), _JSON)


def _slug(site: Site, address: str) -> str:
    """The slug of the post of this site at an address. Raises NotFound."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise NotFound(words("There is no post at this address.")) from error
    is_ours = parts.scheme in ("http", "https") and parts.netloc == urlsplit(site.url).netloc
    prefix, _, slug = parts.path.rstrip("/").rpartition("/")
    if not is_ours or not prefix.endswith("/posts"):
        raise NotFound(words("There is no post at this address."))
    return unquote(slug)


def _pixels(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 else EMBED_WIDTH


def _embedded(site: Site, card: Card) -> str:
    """Without a frame, a script or a style: it looks as the other site's quotes do."""
    quoted = Markup('<blockquote><p><a href="{url}">{title}</a></p>').format(
        url=site.url + card.url, title=card.title
    )
    if card.excerpt:
        quoted += Markup("<p>{}</p>").format(card.excerpt)
    return str(quoted + Markup("<p>{}</p></blockquote>").format(site.name))
