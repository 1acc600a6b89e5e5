"""Data-protection requests: exports and deletions with their state."""

from __future__ import annotations

from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.secrets import Hash
from masthead.engine.records.fields.text import Email, Text
from masthead.engine.records.fields.values import Date, Flag, Select

gdpr_requests = Collection(
    "gdpr_requests",
    (
        Select(name="type", values=("export", "delete"), required=True, write=Access.ENGINE),
        Select(name="subject", values=("tenant", "member"), required=True, write=Access.ENGINE),
        # Not a relation: the request outlives the member it was about.
        Text(name="member_id", max=15, write=Access.ENGINE),
        Select(
            name="status",
            values=("queued", "ready", "cancelled", "completed", "expired", "failed"),
            default="queued",
            write=Access.ENGINE,
        ),
        Select(
            name="asked_by",
            values=("site", "member", "header", "session"),
            write=Access.ENGINE,
            help="The site's owner or an operator, the member, or a caller who sent only the "
            "tenant's id. Older requests say `session` for the first two.",
        ),
        Email(name="notify_email", write=Access.ENGINE, personal=True),
        Date(name="grace_until", write=Access.ENGINE, help="It can be cancelled until then."),
        Date(
            name="confirmed_at",
            write=Access.ENGINE,
            help="When a deletion took effect; empty while it waits for the confirm link.",
        ),
        Date(name="expires_at", write=Access.ENGINE, help="When the download link expires."),
        Date(name="completed_at", write=Access.ENGINE),
        # Whether the site was read-only already when its deletion took effect.
        Flag(name="was_read_only", read=Access.ENGINE, write=Access.ENGINE),
        # Of the download or the cancel link, and of the confirm link.
        Hash(name="token_hash", max=64),
        Hash(name="confirm_hash", max=64),
        Json(
            name="receipt",
            write=Access.ENGINE,
            help="How many rows of each kind the erasure has removed and kept.",
        ),
    ),
    audited="",
    help="Requests for an export or a deletion, and their outcome.",
    made_by="the admin, the member's account page, or POST /api/gdpr/export and /api/gdpr/delete",
    # The record of an erasure outlives the erased tenant, so there is no foreign key.
    platform_records=True,
    indexes=(Index(("status", "grace_until")), Index(("subject", "member_id"))),
    called=staff_words("requests about personal data"),
)
