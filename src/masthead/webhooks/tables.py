"""The delivery queue's own tables, beside the subscriptions and deliveries that people look at."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

# One row per subscription that has something to send, with the moment it is due. Workers pick
# lanes, oldest first, and a few deliveries of each: so a tenant's storm is one row among others
# here, and the queue's length does not matter to anybody else.
webhook_lanes = Table(
    "webhook_lanes",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("webhook_id", dialects.Text(), nullable=False),
    Column("due_at", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "webhook_id"),
    Index("ix_webhook_lanes__due_at", "due_at"),
)

# What workers have in hand. Not a column of the delivery: so a claim writes to a few pages, always
# the same, however many deliveries wait, and leaves their own rows and indexes alone.
webhook_leases = Table(
    "webhook_leases",
    metadata,
    Column("webhook_id", dialects.Text(), nullable=False),
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("delivery_id", dialects.Text(), nullable=False),
    Column("until", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("webhook_id", "tenant_id", "delivery_id"),
    sqlite_with_rowid=False,
)

webhook_attempts = Table(
    "webhook_attempts",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    Column("delivery_id", dialects.Text(), nullable=False),
    Column("number", dialects.Integer(), nullable=False),
    # 0 when there was no answer at all; then `error` says why.
    Column("status", dialects.Integer(), nullable=False),
    Column("duration_ms", dialects.Integer(), nullable=False),
    Column("error", dialects.Text(), nullable=False, server_default=text("''")),
    # The first 2 KB of the answer: for the owner's eyes only.
    Column("answer", dialects.Text(), nullable=False, server_default=text("''")),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("ix_webhook_attempts__tenant_id_delivery_id", "tenant_id", "delivery_id", "number"),
    Index("ix_webhook_attempts__created", "created"),
)
