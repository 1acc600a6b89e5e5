"""Internal tables of the delivery queue."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

# One row per subscription with pending deliveries, and when it is due. Workers take these queues
# oldest first, and a few deliveries of each, so that a tenant's burst does not delay the others.
webhook_lanes = Table(
    "webhook_lanes",
    metadata,
    *texts("tenant_id", "webhook_id", "due_at"),
    # Until when the pace of the subscription is spent, if it has one.
    Column("spent_until", dialects.Text(), nullable=False, server_default=text("''")),
    PrimaryKeyConstraint("tenant_id", "webhook_id"),
    Index("ix_webhook_lanes__due_at", "due_at"),
)

# Deliveries claimed by workers. A table of their own, so that a claim always writes to the same few
# pages and does not touch the deliveries' rows and indexes.
webhook_leases = Table(
    "webhook_leases",
    metadata,
    *texts("webhook_id", "tenant_id", "delivery_id", "until"),
    PrimaryKeyConstraint("webhook_id", "tenant_id", "delivery_id"),
    sqlite_with_rowid=False,
)

webhook_attempts = Table(
    "webhook_attempts",
    metadata,
    *texts("tenant_id", "id", "delivery_id"),
    *integers("number"),
    # 0 without an answer; then `error` says why.
    *integers("status"),
    *integers("duration_ms"),
    Column("error", dialects.Text(), nullable=False, server_default=text("''")),
    # The first 2 KB of the answer, shown to the owner only.
    Column("answer", dialects.Text(), nullable=False, server_default=text("''")),
    # The request as it was sent: a subscription's URL and secret may change afterwards. Empty for
    # attempts of versions that did not store it.
    Column("url", dialects.Text(), nullable=False, server_default=text("''")),
    Column("signed_at", dialects.Integer(), nullable=False, server_default=text("0")),
    Column("signature", dialects.Text(), nullable=False, server_default=text("''")),
    Column("standard_signature", dialects.Text(), nullable=False, server_default=text("''")),
    *texts("created"),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("ix_webhook_attempts__tenant_id_delivery_id", "tenant_id", "delivery_id", "number"),
    Index("ix_webhook_attempts__created", "created"),
)

# Retries of all dead deliveries that match a filter, done by a job.
webhook_retries = Table(
    "webhook_retries",
    metadata,
    *texts("tenant_id", "id", "webhook_id", "event", "since"),
    # -1 until the job has counted them.
    *integers("total"),
    *integers("retried"),
    *texts("created"),
    # Empty while it runs.
    *texts("finished"),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("ix_webhook_retries__tenant_id_created", "tenant_id", "created"),
    Index("ix_webhook_retries__created", "created"),
)
