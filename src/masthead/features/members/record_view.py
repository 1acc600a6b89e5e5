"""The fields of a record of `blog_members`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class MemberRecord(
        TypedRecord[
            Literal[
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
                "language",
                "password_hash",
                "token_key",
            ],
            Literal["newsletter", "comment_mails_off", "verified"],
            Literal["version"],
            Literal["newsletters_off", "welcomed", "labels"],
            Literal["access_until", "mail_state_at", "consent_at", "created", "updated"],
        ]
    ): ...
else:
    MemberRecord = Record


def as_member(record: Record) -> MemberRecord:
    return cast(MemberRecord, record)
