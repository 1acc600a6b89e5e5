"""The fields of a record of `comments`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Never, cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class CommentRecord(
        TypedRecord[
            Literal[
                "id",
                "tenant_id",
                "post_id",
                "author_name",
                "author_email",
                "body",
                "parent_id",
                "thread_id",
                "status",
                "shown_as",
                "member_id",
                "staff_id",
            ],
            Never,
            Literal["version"],
            Never,
            Literal["first_approved_at", "created", "updated"],
        ]
    ): ...
else:
    CommentRecord = Record


def as_comment(record: Record) -> CommentRecord:
    return cast(CommentRecord, record)
