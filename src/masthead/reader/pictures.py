"""Pictures of posts with their size and alternative text, where they are of the site's media."""

from __future__ import annotations

import re
from collections.abc import Iterable

from masthead.media.collection import media
from masthead.reader.request import SiteRequest
from masthead.reader.views import Picture

# With or without a host: older uploads hold the whole address.
_MEDIA = re.compile(r"(?:https?://[^/]+)?/media/([a-z0-9]{15})/[^/]+", re.ASCII)


async def pictures_of(request: SiteRequest, addresses: Iterable[str]) -> dict[str, Picture]:
    """By address."""
    wanted = {address: _MEDIA.fullmatch(address) for address in addresses if address}
    ids = sorted({found[1] for found in wanted.values() if found})
    items = {}
    if ids:
        found = await request.records.related(request.caller, media, "id", ids, len(ids))
        items = {item["id"]: item for item in found}
    pictures = {}
    for address, match in wanted.items():
        item = items.get(match[1]) if match else None
        pictures[address] = (
            Picture(address, item["alt"], item["width"] or 0, item["height"] or 0)
            if item
            else Picture(address)
        )
    return pictures
