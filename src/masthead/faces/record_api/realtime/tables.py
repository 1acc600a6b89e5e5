"""Subscriptions that reached another process than the one that has the client's connection."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

realtime_requests = Table(
    "realtime_requests",
    metadata,
    # '' on the service's own host.
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    # The one that has the connection, by the beginning of the client's id.
    Column("process", dialects.Text(), nullable=False),
    # The client's id, its topics and its token, encrypted.
    Column("sealed", dialects.Text(), nullable=False),
    # What that process answers; '' until then.
    Column("outcome", dialects.Text(), nullable=False, server_default=text("''")),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index(None, "process", "outcome"),
)
