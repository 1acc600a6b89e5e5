"""The pages of a site as a tree, for themes that show it.

A page whose slug begins with that of another and a hyphen stands below it: `install-docker` is
below `install`. Pages of the site's navigation come first, in its order; the others follow by
title.
"""

from __future__ import annotations

from urllib.parse import quote

from masthead.base.languages.alphabet import by_letters
from masthead.faces.reader.cards import in_edition
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Branch
from masthead.features.pages.collection import pages

MOST = 200
"""Pages in a tree: it is on every page of the site."""


async def page_tree(request: SiteRequest) -> tuple[Branch, ...]:
    if request.tenant.is_suspended:
        return ()
    names = frozenset({"title", "slug"})
    found = await request.first(pages, MOST, names=names, filter=in_edition(request))
    titles = {each["slug"]: str(each["title"]) for each in found}
    links = request.site_record["navigation"] or ()
    order = {each["url"]: place for place, each in enumerate(links)}
    last = len(order)

    def place(slug: str) -> tuple[int, tuple[str, str]]:
        return order.get(address(slug), last), by_letters(titles[slug])

    def address(slug: str) -> str:
        return f"{request.root}/{quote(slug)}"

    below: dict[str, list[str]] = {}
    for slug in sorted(titles, key=place):
        below.setdefault(_parent(slug, titles), []).append(slug)

    def branches(parent: str) -> tuple[Branch, ...]:
        return tuple(
            Branch(titles[slug], address(slug), address(slug) == request.path, branches(slug))
            for slug in below.get(parent, ())
        )

    return branches("")


def _parent(slug: str, titles: dict[str, str]) -> str:
    """The longest other slug that this one begins with; empty for a page at the top."""
    start = slug
    while "-" in start:
        start = start.rpartition("-")[0]
        if start in titles:
            return start
    return ""
