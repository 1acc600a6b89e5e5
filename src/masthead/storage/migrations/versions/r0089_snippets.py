"""Snippets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0089"
down_revision = "0088"
rolling = True


def upgrade() -> None:
    op.create_table(
        "snippets",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("content_json", types.Json(), nullable=True),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_snippets__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_snippets")),
    )
    op.create_index(op.f("ix_snippets__id"), "snippets", ["id"])
    op.create_index(
        op.f("ix_snippets__tenant_id_created_id"),
        "snippets",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_snippets__tenant_id_name"),
        "snippets",
        ["tenant_id", "name"],
        unique=True,
    )
    share("snippets", "tenant_id")
