"""Pictures of the site's own media, with their size, alternative text, copies and focus."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.base.caller import Audience
from masthead.engine.records.collection import Record
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Picture
from masthead.features.media.collection import file_names, media
from masthead.features.media.copies import widths_of
from masthead.features.media.images import COPY_TYPES
from masthead.features.media.path import media_path, named_file


async def pictures_of(request: SiteRequest, addresses: Iterable[str]) -> dict[str, Picture]:
    """The pictures by address. One that is not of the site's media has an address and nothing else;
    a private one is left out for guests."""
    pictures = {address: Picture(address) for address in addresses if address}
    wanted = {address: file for address in pictures if (file := named_file(address))}
    ids = sorted({file.record_id for file in wanted.values()})
    if not ids:
        return pictures
    found = await request.records.find_related(request.caller, media, "id", ids, limit=len(ids))
    items = {(item["id"], name): item for item in found for name in file_names(item)}
    for address, file in wanted.items():
        item = items.get(file)
        if item and item["private"] and request.audience is Audience.GUEST:
            del pictures[address]
        elif item:
            pictures[address] = picture_of(item)
    return pictures


def small(address: str, size: str) -> str:
    """A thumb of a picture of the site's media; any other address as it is."""
    file = named_file(address)
    return f"{media_path(*file)}?thumb={size}" if file else address


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
