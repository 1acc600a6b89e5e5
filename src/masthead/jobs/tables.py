"""The job queue: rows written in the transaction that needs the work done, claimed with a lease."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

jobs = Table(
    "jobs",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    Column("kind", dialects.Text(), nullable=False),
    Column("payload", dialects.Json(), nullable=False),
    Column("run_at", dialects.Text(), nullable=False),
    Column("attempts", dialects.Integer(), nullable=False, server_default=text("0")),
    # Until when a worker may be assumed to be busy with it; '' when nobody has it.
    Column("leased_until", dialects.Text(), nullable=False, server_default=text("''")),
    # Set when the last attempt failed for good: kept for a person to look at.
    Column("failed_at", dialects.Text(), nullable=False, server_default=text("''")),
    Column("error", dialects.Text(), nullable=False, server_default=text("''")),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    # A worker looks at each kind for itself: a long queue of mails is not read for an export.
    Index("ix_jobs__kind_failed_at_run_at", "kind", "failed_at", "run_at"),
)
