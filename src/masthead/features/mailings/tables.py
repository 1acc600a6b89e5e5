"""The recipients of mailings. They name members by id and hold no address, so an erasure leaves
nothing of the person here."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.columns import belongs_to, integers, texts
from masthead.storage.metadata import metadata


class RecipientState(StrEnum):
    PENDING = "pending"
    HANDING_OVER = "handing_over"
    """Stored before the email is handed over. If the worker dies, it becomes `uncertain`."""
    SENT = "sent"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    UNSUBSCRIBED = "unsubscribed"


# The signed calls of mail providers that were taken: each counts once.
mail_report_tokens = Table(
    "mail_report_tokens",
    metadata,
    # Always '': a report concerns the addresses of all sites.
    *texts("tenant_id"),
    *texts("token_hash", "body_hash"),
    *integers("is_done"),
    *texts("expires"),
    PrimaryKeyConstraint("tenant_id", "token_hash"),
    Index("ix_mail_report_tokens__expires", "expires"),
)

IS_OPEN = sa.text("due_at <> ''")
IS_NOTABLE = sa.text("state IN ('failed', 'uncertain', 'unsubscribed')")
IS_REPORTED = sa.text("report <> ''")
"""The conditions of partial indexes. A query needs the same text to use one."""

mailing_recipients = Table(
    "mailing_recipients",
    metadata,
    *texts("tenant_id", "mailing_id", "member_id", "state"),
    # When a worker may take it: the next attempt, or the end of another worker's lease. '' in an
    # end state.
    *texts("due_at"),
    # The worker that has the lease.
    Column("claimed_by", dialects.Text(), nullable=False, server_default=sa.text("''")),
    Column("attempts", dialects.Integer(), nullable=False, server_default=sa.text("0")),
    # The mail server's words, without the address.
    Column("reply", dialects.Text(), nullable=False, server_default=sa.text("''")),
    Column("ended_at", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Reported after the email was taken: 'bounced' or 'complained'.
    Column("report", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Only where the newsletter counts them.
    Column("opened_at", dialects.Text(), nullable=False, server_default=sa.text("''")),
    Column("clicked_at", dialects.Text(), nullable=False, server_default=sa.text("''")),
    PrimaryKeyConstraint("tenant_id", "mailing_id", "member_id"),
    belongs_to("mailings", "mailing_id"),
    Index("ix_mailing_recipients__open", "tenant_id", "mailing_id", "due_at", sqlite_where=IS_OPEN),
    Index("ix_mailing_recipients__tenant_id_member_id", "tenant_id", "member_id"),
    # The few that staff looks for among many. Those that were sent are in neither.
    Index(
        "ix_mailing_recipients__notable",
        "tenant_id",
        "mailing_id",
        "state",
        "member_id",
        sqlite_where=IS_NOTABLE,
    ),
    Index(
        "ix_mailing_recipients__reported",
        "tenant_id",
        "mailing_id",
        "report",
        "member_id",
        sqlite_where=IS_REPORTED,
    ),
)
