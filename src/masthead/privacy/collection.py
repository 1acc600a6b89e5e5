"""Data-protection requests: exports and deletions with their state."""

from __future__ import annotations

from masthead.records.collection import Collection, Index
from masthead.records.fields.base import Access
from masthead.records.fields.secrets import Hash
from masthead.records.fields.text import Email, Text
from masthead.records.fields.values import Date, Select

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
        Email(name="notify_email", write=Access.ENGINE, personal=True),
        Date(name="grace_until", write=Access.ENGINE),
        Date(name="expires_at", write=Access.ENGINE),
        Hash(name="token_hash", max=64),
    ),
    made_by="POST /api/gdpr/export and /api/gdpr/delete",
    indexes=(Index(("status", "grace_until")),),
)
