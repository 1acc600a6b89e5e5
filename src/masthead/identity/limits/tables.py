"""Internal tables of the limits."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.metadata import metadata

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # A digest, so that no IP or email address is stored.
    Column("subject", dialects.Text(), nullable=False),
    Column("attempts", dialects.Integer(), nullable=False),
    Column("window_ends", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "subject"),
)

rate_limit_counters = Table(
    "rate_limit_counters",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("subject", dialects.Text(), nullable=False),
    Column("state", dialects.Blob(), nullable=False),
    Column("used_at", dialects.Integer(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "subject"),
)
