"""Pictures of the site's own media, with their size, alternative text, copies and focus."""

from __future__ import annotations

import re
from collections.abc import Iterable

from masthead.media.collection import file_names, media
from masthead.media.copies import widths_of
from masthead.media.images import COPY_TYPES
from masthead.media.path import media_path
from masthead.reader.request import SiteRequest
from masthead.reader.views import Picture
from masthead.records.collection import Record

# With or without a host: older uploads hold the whole address.
_MEDIA = re.compile(r"(?:https?://[^/]+)?/media/([a-z0-9]{15})/([^/?#]+)", re.ASCII)


async def pictures_of(request: SiteRequest, addresses: Iterable[str]) -> dict[str, Picture]:
    """By address. One that is not of the site's media has an address and nothing else."""
    pictures = {address: Picture(address) for address in addresses if address}
    wanted = {address: match for address in pictures if (match := _MEDIA.fullmatch(address))}
    ids = sorted({match[1] for match in wanted.values()})
    if not ids:
        return pictures
    found = await request.records.related(request.caller, media, "id", ids, len(ids))
    items = {(item["id"], name): item for item in found for name in file_names(item)}
    for address, match in wanted.items():
        if item := items.get((match[1], match[2])):
            pictures[address] = picture_of(item)
    return pictures


def small(address: str, size: str) -> str:
    """A thumb of a picture of the site's media; any other address as it is."""
    match = _MEDIA.fullmatch(address)
    return f"{media_path(match[1], match[2])}?thumb={size}" if match else address


def picture_of(item: Record) -> Picture:
    path = media_path(item["id"], item["file"])
    widths = widths_of(item["picture_sizes"])
    return Picture(
        src=path,
        alt=item["alt"],
        width=item["width"] or 0,
        height=item["height"] or 0,
        sources=tuple(
            (content_type, ", ".join(f"{path}/{width}.{kind} {width}w" for width in widths))
            for kind, content_type in COPY_TYPES.items()
            if widths
        ),
        focus=_focus_classes(item["focus_x"], item["focus_y"]),
    )


def _focus_classes(across: int | None, down: int | None) -> str:
    """Classes of the style sheet in steps of ten percent: the policy forbids inline styles."""
    steps = (("x", across), ("y", down))
    return " ".join(f"focus-{axis}{round(at / 10)}" for axis, at in steps if at is not None)
