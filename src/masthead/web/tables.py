"""Internal tables of the HTTP faces."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

request_errors = Table(
    "request_errors",
    metadata,
    Column("request_id", dialects.Text(), nullable=False),
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    Column("method", dialects.Text(), nullable=False),
    # Without the query string, which may hold tokens and addresses of members.
    Column("path", dialects.Text(), nullable=False),
    Column("error", dialects.Text(), nullable=False),
    Column("trace", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("request_id"),
    Index("ix_request_errors__created", "created"),
    # For the erasure of a tenant.
    Index("ix_request_errors__tenant_id", "tenant_id"),
)

remembered_answers = Table(
    "remembered_answers",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # A digest of the API key's id, the route and the header, so that clients do not collide.
    Column("subject", dialects.Text(), nullable=False),
    Column("fingerprint", dialects.Text(), nullable=False),
    Column("status", dialects.Integer(), nullable=False),
    Column("body", dialects.Text(), nullable=False),
    # Empty if the answer has none.
    Column("etag", dialects.Text(), nullable=False, server_default=text("''")),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "subject"),
    Index("ix_remembered_answers__created", "created"),
)
