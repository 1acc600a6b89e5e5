"""The fields of a record of `blog_members`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    _Text = Literal[
        "id",
        "tenant_id",
        "email",
        "name",
        "tier",
        "tier_id",
        "access_tier_id",
        "status",
        "mail_state",
        "mail_state_reason",
        "consent_source",
        "consent_form",
        "payment_customer_id",
        "note",
        "joined_from",
        "paid_from",
        "password_hash",
        "token_key",
    ]
    _Other = Literal["access_until", "mail_state_at", "consent_at", "created", "updated"]
    _Flag = Literal["newsletter", "comment_mails_off", "verified"]
    _List = Literal["newsletters_off", "welcomed", "labels"]
    _Number = Literal["version"]

    # Narrower than a dict on purpose: a name that is no field is refused.
    class MemberRecord(Record):
        @overload  # type: ignore[override, no-overload-impl]
        def __getitem__(self, name: _Text, /) -> str: ...
        @overload
        def __getitem__(self, name: _Other, /) -> Any: ...
        @overload
        def __getitem__(self, name: _Flag, /) -> bool: ...
        @overload
        def __getitem__(self, name: _List, /) -> list[str]: ...
        @overload
        def __getitem__(self, name: _Number, /) -> int: ...
        def get(  # type: ignore[override]
            self, name: _Text | _Other | _Flag | _List | _Number, default: Any = None, /
        ) -> Any: ...
else:
    MemberRecord = Record


def as_member(record: Record) -> MemberRecord:
    return cast(MemberRecord, record)
