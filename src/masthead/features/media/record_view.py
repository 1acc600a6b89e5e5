"""The fields of a record of `media`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    _Text = Literal[
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
    ]
    _Number = Literal["size", "uses", "draft_uses", "version"]
    _Other = Literal["width", "height", "focus_x", "focus_y", "open_uses", "created", "updated"]
    _Flag = Literal["private"]
    _List = Literal["library_lists", "earlier_files"]

    # Narrower than a dict on purpose: a name that is no field is refused.
    class MediaRecord(Record):
        @overload  # type: ignore[override, no-overload-impl]
        def __getitem__(self, name: _Text, /) -> str: ...
        @overload
        def __getitem__(self, name: _Number, /) -> int: ...
        @overload
        def __getitem__(self, name: _Other, /) -> Any: ...
        @overload
        def __getitem__(self, name: _Flag, /) -> bool: ...
        @overload
        def __getitem__(self, name: _List, /) -> list[str]: ...
        def get(  # type: ignore[override]
            self, name: _Text | _Number | _Other | _Flag | _List, default: Any = None, /
        ) -> Any: ...
else:
    MediaRecord = Record


def as_media(record: Record) -> MediaRecord:
    return cast(MediaRecord, record)
