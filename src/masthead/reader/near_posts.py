"""Posts whose address is close to one that leads nowhere: a typing mistake, or a word too few.

Anyone can ask for any number of addresses that do not exist. So the lookups are few (the neighbours
in the order of addresses, then one search), they are counted for each site, and beyond that the
page shows the newest posts instead.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final

from masthead.errors import BadRequest
from masthead.posts.collection import posts
from masthead.reader.cards import CARD_FIELDS
from masthead.reader.request import SiteRequest
from masthead.records.collection import Record
from masthead.records.read.page import ListRequest

_NEIGHBOURS: Final = 4
_LONGEST: Final = 200
_LIKENESS: Final = 0.4
"""The least, between 0 and 1: one word of three in common is not enough."""
_WORD: Final = re.compile(r"[^\W_]{3,}")
_MOST_WORDS: Final = 6


async def near_posts(request: SiteRequest, count: int) -> list[Record]:
    slug = request.path.rstrip("/").rpartition("/")[2].lower()
    # Files are asked for by programs that try what other software has.
    if not slug or "." in slug or len(slug) > _LONGEST:
        return []
    if not request.services.near_lookups.take(request.tenant_id):
        return []
    found = await _neighbours(request, slug)
    alike = [(likeness(slug, each["slug"]), each) for each in found]
    near = sorted((each for each in alike if each[0] >= _LIKENESS), key=itemgetter(0), reverse=True)
    return [each for _, each in near[:count]] or await _with_the_words(request, slug, count)


def likeness(one: str, other: str) -> float:
    """How many groups of three characters they share, between 0 and 1."""
    mine, theirs = _groups(one), _groups(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def _groups(slug: str) -> set[str]:
    padded = f"  {slug[:_LONGEST]} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


async def _neighbours(request: SiteRequest, slug: str) -> list[Record]:
    """Addresses with the same prefix are next to each other in the index of addresses."""
    found: list[Record] = []
    for order in ("slug", "-slug"):
        wanted = ListRequest(
            per_page=_NEIGHBOURS, sort=order, after=(slug, ""), names=CARD_FIELDS, skip_total=True
        )
        found += (await request.records.page(request.caller, posts, wanted)).items
    return found


async def _with_the_words(request: SiteRequest, slug: str, count: int) -> list[Record]:
    words = _WORD.findall(slug)[:_MOST_WORDS]
    if len(words) < 2:
        return []
    wanted = ListRequest(per_page=count, search=" ".join(words), names=CARD_FIELDS, skip_total=True)
    try:
        return (await request.records.page(request.caller, posts, wanted)).items
    except BadRequest:
        # No words that a search takes.
        return []
