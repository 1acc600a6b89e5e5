"""The outbox: every event of a change, written in the change's own transaction.

A tenant's events are ordered by the tenant's version, which each write takes under the tenant's
lock, so that a list of the events after a certain one has no gaps on either database.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

events = Table(
    "events",
    metadata,
    *texts("tenant_id"),
    *integers("version", "ordinal"),
    *texts("id", "name", "collection", "record_id"),
    Column("payload", dialects.Json(), nullable=False),
    *texts("created"),
    PrimaryKeyConstraint("tenant_id", "version", "ordinal"),
    # Ids begin with their time, so that inserts of all tenants hit the same index page.
    Index("ux_events__id_tenant_id", "id", "tenant_id", unique=True),
    Index("ix_events__tenant_id_name_version", "tenant_id", "name", "version", "ordinal"),
)
