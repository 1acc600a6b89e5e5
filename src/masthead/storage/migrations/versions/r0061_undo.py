"""Tables for undoing a change of many records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    op.create_table(
        "undo_steps",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("batch", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("account_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("subject", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("steps", types.Json(), nullable=True),
        sa.Column("expires_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_undo_steps__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_undo_steps")),
    )
    op.create_index(
        op.f("ix_undo_steps__expires_at"),
        "undo_steps",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("expires_at != ''"),
        postgresql_where=sa.text("expires_at != ''"),
    )
    op.create_index(op.f("ix_undo_steps__id"), "undo_steps", ["id"], unique=False)
    op.create_index(
        op.f("ix_undo_steps__tenant_id_batch"),
        "undo_steps",
        ["tenant_id", "batch"],
        unique=False,
        sqlite_where=None,
    )
    op.create_index(
        op.f("ix_undo_steps__tenant_id_created_id"),
        "undo_steps",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    share("undo_steps", "tenant_id")
