"""The fields of a record of `posts`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class PostRecord(
        TypedRecord[
            Literal[
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
                "language",
                "status",
                "edition",
                "summary",
                "review",
                "review_note",
                "review_by",
                "edited_by",
                "content_clean",
            ],
            Literal["email_only", "is_open"],
            Literal["reading_minutes", "clean_rules", "version"],
            Literal["tiers", "tags", "authors"],
            Literal[
                "content_json",
                "translations",
                "published_at",
                "scheduled_for",
                "review_at",
                "revised_at",
                "created",
                "updated",
            ],
        ]
    ): ...
else:
    PostRecord = Record


def as_post(record: Record) -> PostRecord:
    return cast(PostRecord, record)
