"""Internal tables of the payment receivers."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

# Every processed event, without an end, so that a late repeat is recognized. The payload is not
# stored, so the rows hold no personal data.
_NOTED = text("note <> ''")
payment_inbox = Table(
    "payment_inbox",
    metadata,
    *texts("tenant_id", "event_id", "type"),
    # The processor's time of the event, and when it was received.
    *texts("happened", "received"),
    # Why it was not applied, if it was not.
    Column("note", dialects.Text(), nullable=False, server_default=text("''")),
    PrimaryKeyConstraint("tenant_id", "event_id"),
    Index("ix_payment_inbox__received", "tenant_id", "received"),
    Index("ix_payment_inbox__noted", "tenant_id", "received", sqlite_where=_NOTED),
)

# Refunded amounts by payment: a refund may be received before its checkout.
payment_refunds = Table(
    "payment_refunds",
    metadata,
    *texts("tenant_id", "payment_id"),
    *integers("amount"),
    Column("is_full", dialects.Flag(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "payment_id"),
)

# When a signature was wrong for the last time, so that a wrong secret is seen.
payment_refusals = Table(
    "payment_refusals",
    metadata,
    *texts("tenant_id", "refused"),
    PrimaryKeyConstraint("tenant_id"),
)

# The last nightly report of each tenant.
payment_reports = Table(
    "payment_reports",
    metadata,
    *texts("tenant_id", "created"),
    Column("report", dialects.Json(), nullable=False),
    PrimaryKeyConstraint("tenant_id"),
)
