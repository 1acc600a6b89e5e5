"""The outbox: every event of a change, written in the change's own transaction.

A tenant's events are numbered by the tenant's version, which its writes take in turns, so that
"everything after this one" has no gaps on either database.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.metadata import metadata

events = Table(
    "events",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("version", dialects.Integer(), nullable=False),
    Column("ordinal", dialects.Integer(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    Column("name", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    Column("payload", dialects.Json(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "version", "ordinal"),
    # Ids begin with their time, so that all tenants' newest stand on the same page.
    Index("ux_events__id_tenant_id", "id", "tenant_id", unique=True),
    Index("ix_events__tenant_id_name_version", "tenant_id", "name", "version", "ordinal"),
)
