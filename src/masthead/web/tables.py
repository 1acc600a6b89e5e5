"""Internal tables of the HTTP faces."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

request_errors = Table(
    "request_errors",
    metadata,
    *texts("request_id", "tenant_id", "created", "method"),
    # Without the query string, which may hold tokens and addresses of members.
    *texts("path"),
    *texts("error", "trace"),
    PrimaryKeyConstraint("request_id"),
    Index("ix_request_errors__created", "created"),
    # For the erasure of a tenant.
    Index("ix_request_errors__tenant_id", "tenant_id"),
)

remembered_answers = Table(
    "remembered_answers",
    metadata,
    *texts("tenant_id"),
    # A digest of the API key's id, the route and the header, so that clients do not collide.
    *texts("subject"),
    *texts("fingerprint"),
    *integers("status"),
    *texts("body"),
    # Empty if the answer has none.
    Column("etag", dialects.Text(), nullable=False, server_default=text("''")),
    *texts("created"),
    PrimaryKeyConstraint("tenant_id", "subject"),
    Index("ix_remembered_answers__created", "created"),
)
