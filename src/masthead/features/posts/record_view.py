"""The fields of a record of `posts`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    _Text = Literal[
        "id",
        "tenant_id",
        "title",
        "slug",
        "content_html",
        "content_source",
        "excerpt",
        "visibility",
        "featured_image",
        "seo_title",
        "seo_description",
        "status",
        "summary",
        "edited_by",
        "content_clean",
    ]
    _Other = Literal[
        "content_json",
        "published_at",
        "scheduled_for",
        "translations",
        "revised_at",
        "created",
        "updated",
    ]
    _List = Literal["tiers", "tags", "authors"]
    _Flag = Literal["email_only", "is_open"]
    _Number = Literal["reading_minutes", "clean_rules", "version"]

    # Narrower than a dict on purpose: a name that is no field is refused.
    class PostRecord(Record):
        @overload  # type: ignore[override, no-overload-impl]
        def __getitem__(self, name: _Text, /) -> str: ...
        @overload
        def __getitem__(self, name: _Other, /) -> Any: ...
        @overload
        def __getitem__(self, name: _List, /) -> list[str]: ...
        @overload
        def __getitem__(self, name: _Flag, /) -> bool: ...
        @overload
        def __getitem__(self, name: _Number, /) -> int: ...
        def get(  # type: ignore[override]
            self, name: _Text | _Other | _List | _Flag | _Number, default: Any = None, /
        ) -> Any: ...
else:
    PostRecord = Record


def as_post(record: Record) -> PostRecord:
    return cast(PostRecord, record)
