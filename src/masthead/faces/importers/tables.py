"""The table of imported items, by which a second run changes nothing, an interrupted one resumes,
and a run can be undone."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import texts
from masthead.storage.metadata import metadata

# One row per item of an export, written in the transaction of the record that it became.
import_items = Table(
    "import_items",
    metadata,
    *texts("tenant_id"),
    # The namespace of the ids: `opening.id_namespace`, or `images` for copied images.
    *texts("source"),
    *texts("source_id", "collection", "record_id"),
    # Of the item in the source; another fingerprint means that the source has changed.
    *texts("fingerprint"),
    # After the import; another version means that the record was edited since.
    Column("record_version", dialects.Integer(), nullable=False, server_default=text("1")),
    # The run that has created the record; '' for one that was there before.
    Column("run_id", dialects.Text(), nullable=False, server_default=text("''")),
    PrimaryKeyConstraint("tenant_id", "source", "source_id"),
    Index("ix_import_items__tenant_id_run_id_collection", "tenant_id", "run_id", "collection"),
)
