"""The fields of a record of `media`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class MediaRecord(
        TypedRecord[
            Literal[
                "id",
                "tenant_id",
                "file",
                "url",
                "filename",
                "mime_type",
                "mime_family",
                "alt",
                "caption",
                "picture_sizes",
                "sha256",
                "uploaded_by",
            ],
            Literal["private"],
            Literal["size", "uses", "draft_uses", "version"],
            Literal["library_lists", "earlier_files"],
            Literal["width", "height", "focus_x", "focus_y", "open_uses", "created", "updated"],
        ]
    ): ...
else:
    MediaRecord = Record


def as_media(record: Record) -> MediaRecord:
    return cast(MediaRecord, record)
