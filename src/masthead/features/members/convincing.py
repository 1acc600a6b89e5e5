"""The post that convinced a reader to join or to pay: the one whose link they followed.

Links to join, to sign in and to the tiers have the page that they are on as their way back. A way
back that leads to no post counts for nothing."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from masthead.engine.records.write.unit import Unit
from masthead.features.posts.collection import posts

_POST: Final = re.compile(r"(?:/[a-z0-9-]+)?/posts/([^/]+)")
_MAX_FIELDS: Final = 10


async def convincing_post(unit: Unit, way_back: str) -> str:
    """The id of the post that an address leads back to, itself or by its own `back`; '' for
    none."""
    slug = slug_of_post(way_back)
    if not slug:
        return ""
    found = await unit.find_one(posts, {"slug": slug, "status": "published"})
    return str(found["id"]) if found else ""


def slug_of_post(way_back: str) -> str:
    try:
        parts = urlsplit(way_back)
        given = parse_qs(parts.query, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return ""
    for path in (parts.path, *given.get("back", ())[-1:]):
        if match := _POST.fullmatch(path.partition("?")[0]):
            slug = unquote(match[1])
            return slug if slug.isprintable() else ""
    return ""
