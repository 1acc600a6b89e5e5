"""The receivers' own tables, beside the mappings that people look at."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

# Every event that was taken, for good: a repeat is known however late it comes. Without the
# payload, so that nothing about a person stays here.
_NOTED = text("note <> ''")
payment_inbox = Table(
    "payment_inbox",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("event_id", dialects.Text(), nullable=False),
    Column("type", dialects.Text(), nullable=False),
    # When the processor says it happened, and when it came here.
    Column("happened", dialects.Text(), nullable=False),
    Column("received", dialects.Text(), nullable=False),
    # Why it was not acted on, where it was not.
    Column("note", dialects.Text(), nullable=False, server_default=text("''")),
    PrimaryKeyConstraint("tenant_id", "event_id"),
    Index("ix_payment_inbox__noted", "tenant_id", "received", sqlite_where=_NOTED),
)

# What was paid back, by payment: a refund may come before the checkout that it takes back.
payment_refunds = Table(
    "payment_refunds",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("payment_id", dialects.Text(), nullable=False),
    Column("amount", dialects.Integer(), nullable=False),
    Column("is_full", dialects.Flag(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "payment_id"),
)

# The last nightly look at each tenant.
payment_reports = Table(
    "payment_reports",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    Column("report", dialects.Json(), nullable=False),
    PrimaryKeyConstraint("tenant_id"),
)
