"""A log of the changes of sites that realtime clients listen to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    op.add_column(
        "tenant_states",
        sa.Column("watched_until", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "tenant_states",
        sa.Column("changes_from", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.create_table(
        "record_changes",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("version", types.Integer(), nullable=False),
        sa.Column("ordinal", types.Integer(), nullable=False),
        sa.Column("collection", types.Text(), nullable=False),
        sa.Column("record_id", types.Text(), nullable=False),
        sa.Column("action", types.Text(), nullable=False),
        sa.Column("record_version", types.Integer(), nullable=False),
        sa.Column("state", types.Json(), nullable=False),
        sa.Column("previous", types.Json(), nullable=True),
        sa.Column("created", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "version", "ordinal", name=op.f("pk_record_changes")),
    )
    share("record_changes", "tenant_id")
    op.create_table(
        "realtime_requests",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("process", types.Text(), nullable=False),
        sa.Column("sealed", types.Text(), nullable=False),
        sa.Column("outcome", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_realtime_requests")),
    )
    op.create_index(
        op.f("ix_realtime_requests__process_outcome"), "realtime_requests", ["process", "outcome"]
    )
    share("realtime_requests", "tenant_id")
