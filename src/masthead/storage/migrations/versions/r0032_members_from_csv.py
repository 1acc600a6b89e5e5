"""Members come from CSV files: the uploads, and how far they have come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "member_imports",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("status", types.Text(), server_default=sa.text("'uploaded'"), nullable=False),
        sa.Column("file_name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("object_key", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("encoding", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("delimiter", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("options", types.Json(), nullable=True),
        sa.Column("rows", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("read_rows", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("added", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("changed", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("unchanged", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("refused", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("problems", types.Json(), nullable=True),
        sa.Column("error", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("finished_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("expires_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_member_imports__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_member_imports")),
    )
    op.create_index(
        op.f("ix_member_imports__expires_at"),
        "member_imports",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("expires_at != ''"),
        postgresql_where=sa.text("expires_at != ''"),
    )
    op.create_index(op.f("ix_member_imports__id"), "member_imports", ["id"], unique=False)
    op.create_index(
        op.f("ix_member_imports__tenant_id_created_id"),
        "member_imports",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    share("member_imports", "tenant_id")
