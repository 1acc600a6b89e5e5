"""The files for crawlers: `robots.txt`, the sitemap and `/.well-known`."""

from __future__ import annotations

import re
from urllib.parse import quote

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.content.texts.languages import root_of
from masthead.faces.reader.cards import next_position
from masthead.faces.reader.endpoint import Document
from masthead.faces.reader.feeds import xml
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.posts.site import PUBLISHED_LIST

MAX_URLS = 50_000
"""As the protocol has it."""
AT_ONCE = 1_000
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}", re.ASCII)
_XML = b"application/xml; charset=utf-8"


async def robots(request: SiteRequest) -> Document:
    choice = request.site_record["crawlers"]
    lines = ["User-agent: *"]
    if choice == "none":
        lines += ["Disallow: /", ""]
    else:
        lines += [f"Disallow: {path}" for path in _CLOSED]
        if choice == "search":
            lines += ["", *(f"User-agent: {name}" for name in AI_CRAWLERS), "Disallow: /"]
        lines += ["", f"Sitemap: {site_of(request).url}/sitemap.xml", ""]
    return Document("\n".join(lines).encode(), b"text/plain; charset=utf-8")


_CLOSED = ("/admin", "/member/", "/search", "/api/")
AI_CRAWLERS = (
    *("AI2Bot", "Ai2Bot-Dolma", "Amazonbot", "anthropic-ai", "Applebot-Extended", "Bytespider"),
    *("CCBot", "ChatGPT-User", "Claude-SearchBot", "Claude-User", "Claude-Web", "ClaudeBot"),
    *("cohere-ai", "cohere-training-data-crawler", "DeepSeekBot", "Diffbot", "DuckAssistBot"),
    *("FacebookBot", "Google-CloudVertexBot", "Google-Extended", "GPTBot", "ImagesiftBot"),
    *("img2dataset", "meta-externalagent", "meta-externalfetcher", "MistralAI-User"),
    *("OAI-SearchBot", "omgili", "omgilibot", "PanguBot", "Perplexity-User", "PerplexityBot"),
    *("PetalBot", "Timpibot", "Webzio-Extended", "YouBot"),
)
"""The names under which crawlers that train or answer with AI read `robots.txt`."""


async def sitemap_index(request: SiteRequest) -> Document:
    """One part for each month with posts, found by one look-up for each language."""
    site, month = site_of(request), ""
    parts = [f"{site.url}/sitemap/pages.xml"]
    while True:
        position = await next_position(request, _end(month) if month else "")
        if not position or position > request.now:
            return Document(xml("sitemap.xml", parts=parts, urls=()), _XML)
        month = position[:7]
        parts.append(f"{site.url}/sitemap/{month}.xml")


async def sitemap_month(request: SiteRequest, month: str) -> Document:
    if not _MONTH.fullmatch(month):
        raise NotFound(words("There is no such sitemap."))
    urls: list[tuple[str, str]] = []
    for edition in request.editions:
        await _add_month(request, edition, month, urls)
    if not urls:
        raise NotFound(words("No post was published in this month."))
    return Document(xml("sitemap.xml", parts=(), urls=urls), _XML)


async def _add_month(
    request: SiteRequest, edition: str, month: str, urls: list[tuple[str, str]]
) -> None:
    start, after = f"{site_of(request).url}{root_of(edition)}/posts/", (_end(month), "")
    while len(urls) < MAX_URLS:
        found = await request.first(
            posts,
            min(AT_ONCE, MAX_URLS - len(urls)),
            listing=(PUBLISHED_LIST, edition),
            after=after,
            names=frozenset({"slug", "published_at", "updated", "visibility", "tiers"}),
        )
        in_month = [post for post in found if post["published_at"].startswith(month)]
        urls += [(f"{start}{quote(post['slug'])}", post["updated"]) for post in in_month]
        if len(in_month) < AT_ONCE:
            break
        after = (found[-1]["published_at"], found[-1]["id"])


def _end(month: str) -> str:
    """Comes after every moment of the month, as text."""
    return f"{month}-99"


async def sitemap_pages(request: SiteRequest) -> Document:
    site = site_of(request)
    found = await request.first(pages, 1_000, names=frozenset({"slug", "updated", "edition"}))
    starts = [f"{site.url}{root_of(edition)}" for edition in request.editions]
    urls = [(f"{start}{path}", "") for start in starts for path in ("/", "/archive")]
    urls += [
        (f"{site.url}{root_of(page['edition'])}/{page['slug']}", page["updated"]) for page in found
    ]
    return Document(xml("sitemap.xml", parts=(), urls=urls), _XML)
