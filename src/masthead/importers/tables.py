"""The table of imported items, by which a second run changes nothing and an interrupted one
resumes."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

# One row per item of an export, written in the transaction of the record that it became.
import_items = Table(
    "import_items",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # The namespace of the ids: `opening.id_namespace`, or `images` for copied images.
    Column("source", dialects.Text(), nullable=False),
    Column("source_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    # Of the item in the source; another fingerprint means that the source has changed.
    Column("fingerprint", dialects.Text(), nullable=False),
    # After the import; another version means that the record was edited since.
    Column("record_version", dialects.Integer(), nullable=False, server_default=text("1")),
    PrimaryKeyConstraint("tenant_id", "source", "source_id"),
)
