"""Posts whose address is close to one that leads nowhere: a typing mistake, or other words.

Anyone can ask for any number of addresses that do not exist. So the lookups are few (the neighbours
in the order of addresses, then at most four searches), they are counted for each site, and beyond
that the page shows the newest posts instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from masthead.base.errors import BadRequest
from masthead.engine.records.collection import Record
from masthead.faces.reader.cards import CARD_FIELDS
from masthead.faces.reader.request import SiteRequest
from masthead.features.posts.collection import posts

_NEIGHBOURS: Final = 4
_LONGEST: Final = 200
_LIKENESS: Final = 0.4
"""The least, between 0 and 1: one word of three in common is not enough."""
_WORD: Final = re.compile(r"[^\W\d_][^\W_]{2,}")
_MOST_WORDS: Final = 6
_SEARCHED_ALONE: Final = 3
_PREFIX: Final = 4
"""Characters of a word that have to be right."""
_SAME_WORD: Final = 0.5
"""The least likeness of a word of the address to one of a title."""
_EXAMINED: Final = 20


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
    if near:
        return [each for _, each in near[:count]]
    words = _WORD.findall(request.path.lower())[-_MOST_WORDS:]
    with_all = await _search(request, " ".join(words), count) if len(words) > 1 else []
    return with_all or await _with_some(request, words, count)


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
        found += await request.first(
            posts, _NEIGHBOURS, sort=order, after=(slug, ""), names=CARD_FIELDS
        )
    return found


async def _with_some(request: SiteRequest, words: Sequence[str], count: int) -> list[Record]:
    """Posts with one of the longest words in their title or address, the most words first. The end
    of a word may be misspelt."""
    long = {word for word in words if len(word) >= _PREFIX}
    longest = sorted(long, key=len, reverse=True)[:_SEARCHED_ALONE]
    found: dict[str, Record] = {}
    for word in longest:
        for post in await _search(request, f"{word[:_PREFIX]}*", _EXAMINED):
            found[post["id"]] = post
    scored = [(_words_in_common(longest, post), post) for post in found.values()]
    near = sorted((each for each in scored if each[0]), key=itemgetter(0), reverse=True)
    return [post for _, post in near[:count]]


def _words_in_common(words: Sequence[str], post: Record) -> float:
    theirs = set(_WORD.findall(f"{post['title']} {post['slug']}".lower()))
    best = (max((likeness(word, each) for each in theirs), default=0.0) for word in words)
    return sum(each for each in best if each >= _SAME_WORD)


async def _search(request: SiteRequest, query: str, count: int) -> list[Record]:
    try:
        return await request.first(posts, count, search=query, names=CARD_FIELDS)
    except BadRequest:
        # No words that a search takes.
        return []
