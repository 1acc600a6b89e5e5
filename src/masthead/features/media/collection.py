"""The media collection: uploaded files and their metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from masthead.base.caller import Kind
from masthead.engine.links.file_uses import MEDIA, OPEN_USES, NewFiles
from masthead.engine.records.changes import Change, Later, Save
from masthead.engine.records.collection import (
    FREE,
    Collection,
    Counter,
    Index,
    Record,
    Rules,
    Searched,
    SiteRules,
    Trashed,
)
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.text import SiteAddress, Text
from masthead.engine.records.fields.values import Flag, Number

COPIES_JOB = "media.copies"
COPIED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})


def media_events(change: Change) -> Iterator[str]:
    if change.old is None:
        yield "media.uploaded"


def media_jobs(change: Change) -> Iterator[Later]:
    """A new picture, and one that takes the place of another, gets its copies."""
    new = change.new
    if new is None or not is_copied(new):
        return
    if change.old is None or change.old["file"] != new["file"]:
        yield Later(COPIES_JOB, {"id": new["id"]})


def is_copied(item: Record) -> bool:
    """Whether copies in other sizes can be made: SVG fits every screen as it is."""
    return item["mime_type"] in COPIED and bool(item["width"])


def file_names(item: Record) -> tuple[str, ...]:
    """Under which its file is asked for: its own, and those of the files that it has replaced."""
    earlier = item["earlier_files"]
    # A list that was read to be sent is not decoded.
    names = msgspec.json.decode(earlier) if isinstance(earlier, msgspec.Raw) else earlier
    return (item["file"], *names)


def before_save(save: Save) -> Mapping[str, Any]:
    stamps: dict[str, Any] = {"library_lists": _lists_of(save.new)}
    if save.old is None and save.caller.kind is not Kind.KEY:
        stamps["uploaded_by"] = save.caller.id
    return stamps


UNUSED, NO_ALT = "unused", "no-alt"


def _lists_of(item: Record) -> list[str]:
    """Each combination of the library's filters has its own list, so that no query searches another
    list."""
    is_unused = not item["uses"] and not item["draft_uses"]
    lacks_alt = item["mime_family"] == "image" and not item["alt"]
    lists = [list_name(UNUSED), list_name(UNUSED, item["mime_family"])] if is_unused else []
    lists += [list_name(NO_ALT)] if lacks_alt else []
    return [*lists, list_name(UNUSED, NO_ALT)] if is_unused and lacks_alt else lists


def list_name(*parts: str) -> str:
    return "/".join(parts)


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


THUMBS = (
    # Cropped to the middle, the top and the bottom; and as a whole.
    *(f"{size}{crop}" for size in ("100x100", "300x300") for crop in ("", "t", "b", "f")),
    *("300x0", "600x0", "1200x0", "400x400", "800x800f"),
)
OWN = "uploaded_by = @request.auth.id"
OWN_OR_OPEN = f"{OWN} || (private = false && {OPEN_USES} > 0)"
"""A contributor sees what readers see, besides own uploads."""

media = Collection(
    MEDIA,
    (
        File(
            name="file",
            required=True,
            thumbs=THUMBS,
        ),
        SiteAddress(name="url", write=Access.ENGINE),
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
        Text(
            name="caption",
            max=1000,
            help="Shown below the picture when it is inserted into a text from the library.",
        ),
        PICTURE_SIZES,
        _focus("focus_x", "left to right"),
        _focus("focus_y", "top to bottom"),
        Text(name="sha256", max=64, read=Access.ENGINE, write=Access.ENGINE),
        Text(
            name="uploaded_by",
            max=15,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The account that uploaded it. Empty for an API key or the service itself.",
        ),
        Number(
            name="uses",
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="How many posts, pages, accounts and settings contain its address.",
        ),
        Number(
            name="draft_uses",
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="How many unpublished changes contain its address.",
        ),
        Number(
            name=OPEN_USES,
            nullable=True,
            default=None,
            read=Access.SITE,
            write=Access.ENGINE,
            help="How many of the records that use it everyone can read. Empty until something has"
            " used it. From then on, the file opens for everyone only while there is one.",
        ),
        Flag(
            name="private",
            help="Only for staff, API keys, and members who can read a post that uses it.",
        ),
        TextList(
            name="library_lists",
            indexed=True,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="`unused`, and `no-alt` for a picture without alternative text.",
        ),
        TextList(
            name="earlier_files",
            read=Access.SITE,
            write=Access.ENGINE,
            help="The names of the files that this one replaced. Their addresses redirect here.",
        ),
    ),
    audited="filename",
    help="Uploaded files.",
    editors=FREE,
    authors=Rules(read="", create="", update=OWN, delete=OWN),
    contributors=Rules(read=OWN_OR_OPEN, create=OWN, update=OWN, delete=OWN),
    site=SiteRules(
        read="mime_family = 'image'",
        fields=(
            *("file", "width", "height", "alt", "picture_sizes", "focus_x", "focus_y"),
            *("earlier_files", OPEN_USES, "private"),
        ),
    ),
    before_save=before_save,
    events=media_events,
    jobs=media_jobs,
    trashed=Trashed(
        title="filename",
        owners=lambda item: [item["uploaded_by"]] if item["uploaded_by"] else [],
        size="size",
    ),
    followers=(NewFiles(),),
    counters=(
        Counter(by=("mime_family",)),
        Counter(by=("mime_type",)),
        Counter(by=(), each="library_lists"),
    ),
    sums=("size",),
    searchable=(Searched("filename"), Searched("alt"), Searched("caption")),
    indexes=(
        Index(("mime_family", "created", "id")),
        Index(("mime_type", "created", "id")),
        Index(("sha256",)),
    ),
)
