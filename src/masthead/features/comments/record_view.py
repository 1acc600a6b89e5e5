"""The fields of a record of `comments`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    _Text = Literal[
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
    ]
    _Other = Literal["first_approved_at", "created", "updated"]
    _Number = Literal["version"]

    # Narrower than a dict on purpose: a name that is no field is refused.
    class CommentRecord(Record):
        @overload  # type: ignore[override, no-overload-impl]
        def __getitem__(self, name: _Text, /) -> str: ...
        @overload
        def __getitem__(self, name: _Other, /) -> Any: ...
        @overload
        def __getitem__(self, name: _Number, /) -> int: ...
        def get(  # type: ignore[override]
            self, name: _Text | _Other | _Number, default: Any = None, /
        ) -> Any: ...
else:
    CommentRecord = Record


def as_comment(record: Record) -> CommentRecord:
    return cast(CommentRecord, record)
