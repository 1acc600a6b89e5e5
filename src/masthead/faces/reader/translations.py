"""The other languages of a text, as its page names them to readers and search engines.

An author gives their addresses, also those of texts of the site that are not published yet. The
page names none that its reader could not open: a draft's address says what it will be about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from masthead.content.texts.languages import root_of
from masthead.engine.records.collection import Collection, Record
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import absolute, site_of
from masthead.faces.reader.views import Link
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts
from masthead.features.site.address import site_url

_TEXT: Final = re.compile(r"(?:/[a-z]{2,3}(?:-[a-z0-9]{2,8})*)?/(posts/)?([^/?#]+)/?(?:[?#].*)?")
_NAMES: Final = frozenset({"slug", "edition", "visibility", "tiers"})


async def translations_of(request: SiteRequest, path: str, text: Record) -> tuple[Link, ...]:
    """Each version of a text names all of them, itself included, as search engines want it."""
    given = msgspec.json.decode(text["translations"] or b"[]") or ()
    tag = text["language"] or request.language
    others = {
        each["language"]: each["url"] for each in given if each["language"].lower() != tag.lower()
    }
    shown = await _addresses(request, others.values()) if others else {}
    site = site_of(request)
    links = [
        Link(language, absolute(site, shown[url])) for language, url in others.items() if shown[url]
    ]
    return (Link(tag, site.url + path, is_current=True), *links) if links else ()


async def _addresses(request: SiteRequest, given: Iterable[str]) -> Mapping[str, str]:
    """The address of each text in its own language; empty for one that the reader can't open."""
    found = {url: url for url in given}
    for collection, prefix in ((posts, "/posts/"), (pages, "/")):
        slugs = {url: slug for url in found if (slug := _slug(request, url, collection))}
        if not slugs:
            continue
        wanted = sorted(set(slugs.values()))
        open_ones = {
            each["slug"]: f"{root_of(each['edition'])}{prefix}{quote(each['slug'])}"
            for each in await request.records.find_related(
                *(request.caller, collection, "slug", wanted),
                limit=len(wanted),
                names=_NAMES.intersection(collection.by_name),
            )
        }
        for slug in wanted:
            if slug not in open_ones and await _exists(request, collection, slug):
                open_ones[slug] = ""
        found |= {url: open_ones[slug] for url, slug in slugs.items() if slug in open_ones}
    return found


def _slug(request: SiteRequest, url: str, collection: Collection) -> str:
    """The slug of a text of the site of this kind; empty for an address of anything else."""
    settings, record = request.services.settings, request.site_record
    for domain in (record["custom_domain"], ""):
        url = url.removeprefix(site_url(settings, request.tenant.slug, domain))
    parts = _TEXT.fullmatch(url)
    if parts is None or (collection is posts) != bool(parts[1]):
        return ""
    return unquote(parts[2])


async def _exists(request: SiteRequest, collection: Collection, slug: str) -> bool:
    """An address that leads to no text may be an old one, which redirects."""
    found = await request.records.find_one(collection, {"slug": slug}, tenant_id=request.tenant_id)
    return found is not None
