"""Texts for programs: a post or a page as Markdown, and `llms.txt`, the list of them. Programs get
what guests can read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import quote

from masthead.base.errors import NotFound
from masthead.base.languages.formats import listed
from masthead.base.languages.words import words
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import tokens_of
from masthead.content.texts.as_markdown import markdown_of
from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Record
from masthead.faces.reader.cards import CARD_FIELDS, cards_of
from masthead.faces.reader.content import for_reader, one_at_a_time
from masthead.faces.reader.endpoint import Document, Redirect
from masthead.faces.reader.pages.texts import by_slug, moved
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import absolute, site_of
from masthead.faces.reader.views import Card, Site
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import as_post
from masthead.features.posts.site import PUBLISHED_LIST, without_paywall

SUFFIX = ".md"
LISTED = 50
"""Posts in `llms.txt`."""
_READ_FOR_THEM = 200
_PLAIN = b"text/plain; charset=utf-8"
_MARKDOWN = b"text/markdown; charset=utf-8"


async def post_as_markdown(request: SiteRequest, slug: str) -> Document | Redirect:
    _check_open(request)
    found = await by_slug(request, posts, slug)
    if redirect := moved(request, found, "/posts/", _suffix(request)):
        return redirect
    [card] = await cards_of(request, [as_post(found)])
    authors = listed([each.name for each in card.authors])
    by = [str(words("by %(authors)s", authors=authors))] if authors else []
    about = [f"{card.published:%Y-%m-%d}", *by]
    rest = [] if card.is_open else [f"*{escaped_text(str(_rest(card)))}.*"]
    return await _document(request, found, card.url, about=about, rest=rest)


def _rest(card: Card) -> str:
    if card.levels:
        levels = listed(card.levels, "or")
        return words("The rest of this post is for members with %(tiers)s", tiers=levels)
    if card.audience == "paid":
        return words("The rest of this post is for paid members")
    return words("The rest of this post is for members")


async def page_as_markdown(request: SiteRequest, slug: str) -> Document | Redirect:
    _check_open(request)
    found = await by_slug(request, pages, slug)
    redirect = moved(request, found, "/", _suffix(request))
    return redirect or await _document(request, found, f"{request.root}/{quote(slug)}")


def _suffix(request: SiteRequest) -> str:
    """Some programs ask for Markdown by its address, others by a header."""
    return SUFFIX if request.path.endswith(SUFFIX) else ""


async def _document(
    request: SiteRequest,
    found: Record,
    path: str,
    *,
    about: Sequence[str] = (),
    rest: Sequence[str] = (),
) -> Document:
    site = site_of(request)
    html = without_paywall(await for_reader(request, found["content_html"]))
    async with one_at_a_time(html):
        text = await asyncio.to_thread(_text, html, partial(absolute, site))
    facts = " · ".join([*map(escaped_text, about), f"<{site.url}{path}>"])
    parts = [f"# {escaped_text(found['title'])}", facts, text.rstrip(), *rest]
    whole = "\n\n".join(filter(None, parts))
    return Document(f"{whole}\n".encode(), _MARKDOWN, headers=_HEADERS)


_HEADERS = ((b"vary", b"Accept"), (b"x-robots-tag", b"noindex"))
"""Search engines know the text by its page."""


def _text(html: str, whole: Callable[[str], str]) -> str:
    return markdown_of(tokens_of(html), whole)


async def llms(request: SiteRequest) -> Document:
    """The site for language models: https://llmstxt.org."""
    _check_open(request)
    site = site_of(request)
    parts = [f"# {escaped_text(site.name)}"]
    if site.description:
        parts.append("> " + escaped_text(" ".join(site.description.split())))
    for title, lines in (
        (words("Posts"), await _post_lines(request, site)),
        (words("Pages"), await _page_lines(request, site)),
    ):
        if lines:
            parts += [f"## {title}", "\n".join(lines)]
    return Document(("\n\n".join(parts) + "\n").encode(), _PLAIN)


async def _post_lines(request: SiteRequest, site: Site) -> list[str]:
    """The newest public posts, as far as they are among the newest of all."""
    found: list[Record] = []
    for edition in request.editions:
        listing = (PUBLISHED_LIST, edition)
        found += await request.first(posts, _READ_FOR_THEM, listing=listing, names=CARD_FIELDS)
    found.sort(key=lambda post: (post["published_at"], post["id"]), reverse=True)
    public = [each for each in found if each["visibility"] == "public"][:LISTED]
    return [
        _line(site, card.title, card.url, card.excerpt) for card in await cards_of(request, public)
    ]


async def _page_lines(request: SiteRequest, site: Site) -> list[str]:
    names = frozenset({"title", "slug", "excerpt", "edition"})
    found = await request.first(pages, LISTED, names=names)
    return [
        _line(
            site,
            each["title"],
            f"{root_of(each['edition'])}/{quote(each['slug'])}",
            each["excerpt"],
        )
        for each in found
    ]


def _line(site: Site, title: str, path: str, excerpt: str) -> str:
    link = f"- [{escaped_text(title)}]({site.url}{path}{SUFFIX})"
    return f"{link}: {escaped_text(' '.join(excerpt.split()))}" if excerpt else link


def _check_open(request: SiteRequest) -> None:
    """The site may want no machines."""
    if request.site_record["crawlers"] == "none":
        raise NotFound(words("There is nothing at this address."))
