"""Exports that are asked for in the admin."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "site_exports",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("format", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("state", types.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("asked_by", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("done", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("report", types.Json(), nullable=True),
        sa.Column("bytes", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("finished_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("expires_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_site_exports__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_site_exports")),
    )
    op.create_index(op.f("ix_site_exports__id"), "site_exports", ["id"], unique=False)
    op.create_index(
        op.f("ix_site_exports__state_expires_at"),
        "site_exports",
        ["state", "expires_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_site_exports__tenant_id_created_id"),
        "site_exports",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    share("site_exports", "tenant_id")
