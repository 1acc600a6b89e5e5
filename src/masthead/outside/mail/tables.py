"""Internal tables of outgoing mail."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.columns import texts
from masthead.storage.metadata import metadata

HAS_FAILED = sa.text("failed_at <> ''")
mails = Table(
    "mails",
    metadata,
    *texts("tenant_id", "id"),
    # Not encrypted, so that an erasure finds a person's emails.
    *texts("recipient"),
    *texts("content", "created"),
    # The last attempt that failed, and why; '' before the first.
    Column("failed_at", dialects.Text(), nullable=False, server_default=sa.text("''")),
    Column("failure", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # No further attempt follows.
    Column("gave_up", dialects.Flag(), nullable=False, server_default=sa.false()),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("ix_mails__tenant_id_recipient", "tenant_id", "recipient"),
    Index(
        "ix_mails__failed",
        "tenant_id",
        "failed_at",
        sqlite_where=HAS_FAILED,
    ),
    Index("ix_mails__created", "created"),
)
