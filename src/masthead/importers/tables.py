"""The memory of what was imported: by it a second run changes nothing and a cut-off one goes on."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

# One row per item of an export, written in the transaction of the record that it became.
import_items = Table(
    "import_items",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # The platform, or what else names a family of ids (copied images have one of their own).
    Column("source", dialects.Text(), nullable=False),
    Column("source_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    # Of the item as the source had it: another one means that the source has changed.
    Column("fingerprint", dialects.Text(), nullable=False),
    # As the import left the record: another one means that somebody has edited it here.
    Column("record_version", dialects.Integer(), nullable=False, server_default=text("1")),
    PrimaryKeyConstraint("tenant_id", "source", "source_id"),
)
