"""The media collection: uploaded files and their metadata."""

from __future__ import annotations

from collections.abc import Iterator

from masthead.records.collection import (
    FREE,
    Change,
    Collection,
    Counter,
    Event,
    Index,
    Later,
    Record,
    Rules,
    SiteRules,
)
from masthead.records.fields.base import Access
from masthead.records.fields.file import File
from masthead.records.fields.text import Text
from masthead.records.fields.values import Number

COPIES_JOB = "media.copies"
COPIED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})


def media_events(change: Change) -> Iterator[Event]:
    if change.old is None:
        item = change.record
        yield Event(
            "media.uploaded",
            {
                "media_id": item["id"],
                "filename": item["filename"],
                "url": item["url"],
                "mime_type": item["mime_type"],
                "size": item["size"],
                "tenant_id": item["tenant_id"],
            },
        )


def media_jobs(change: Change) -> Iterator[Later]:
    """A picture gets its copies. A file is never replaced, so a new record is all there is."""
    if change.old is None and is_copied(change.record):
        yield Later(COPIES_JOB, {"id": change.record["id"]})


def is_copied(item: Record) -> bool:
    """Whether copies in other sizes can be made: SVG fits every screen as it is."""
    return item["mime_type"] in COPIED and bool(item["width"])


PICTURE_SIZES = Text(
    name="picture_sizes",
    max=100,
    read=Access.SITE,
    write=Access.ENGINE,
    help="The widths of the picture's copies, or `none`. Empty until the worker has made them.",
)
NO_SIZES = "none"


def _focus(name: str, direction: str) -> Number:
    return Number(
        name=name,
        nullable=True,
        default=None,
        min=0,
        max=100,
        help=f"What must stay visible where the picture is cropped, in percent from {direction}."
        " Empty is the middle.",
    )


media = Collection(
    "media",
    (
        File(
            name="file",
            required=True,
            thumbs=("100x100", "300x0", "600x0", "1200x0", "400x400", "800x800f"),
        ),
        Text(name="url", max=2048, write=Access.ENGINE),
        Text(name="filename", max=255, write=Access.ENGINE),
        # As sniffed, without parameters: `text/plain`, not `text/plain; charset=utf-8`.
        Text(name="mime_type", max=255, write=Access.ENGINE),
        Text(
            name="mime_family",
            max=64,
            write=Access.ENGINE,
            help="The first half of the MIME type, such as `image`.",
        ),
        Number(name="size", write=Access.ENGINE),
        Number(name="width", nullable=True, write=Access.ENGINE),
        Number(name="height", nullable=True, write=Access.ENGINE),
        Text(name="alt", max=1000),
        PICTURE_SIZES,
        _focus("focus_x", "left to right"),
        _focus("focus_y", "top to bottom"),
        Text(name="sha256", max=64, read=Access.ENGINE, write=Access.ENGINE),
    ),
    audited="filename",
    help="Uploaded files.",
    editors=FREE,
    authors=Rules(read="", create=""),
    site=SiteRules(
        read="mime_family = 'image'",
        fields=("file", "width", "height", "alt", "picture_sizes", "focus_x", "focus_y"),
    ),
    events=media_events,
    jobs=media_jobs,
    counters=(Counter(by=("mime_family",)), Counter(by=("mime_type",))),
    indexes=(
        Index(("mime_family", "created", "id")),
        Index(("mime_type", "created", "id")),
        Index(("sha256",)),
    ),
)
