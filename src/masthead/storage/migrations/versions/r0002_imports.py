"""Imports: runs, redirects, and the memory of what came from where."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "import_items",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("source", types.Text(), nullable=False),
        sa.Column("source_id", types.Text(), nullable=False),
        sa.Column("collection", types.Text(), nullable=False),
        sa.Column("record_id", types.Text(), nullable=False),
        sa.Column("fingerprint", types.Text(), nullable=False),
        sa.Column("record_version", types.Integer(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "source", "source_id", name=op.f("pk_import_items")),
    )
    op.create_table(
        "import_runs",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("platform", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("state", types.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("file_name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("object_key", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("options", types.Json(), nullable=True),
        sa.Column("dry_run", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("report", types.Json(), nullable=True),
        sa.Column("error", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("started_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("finished_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_import_runs__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_import_runs")),
    )
    op.create_index(op.f("ix_import_runs__id"), "import_runs", ["id"], unique=False)
    op.create_index(
        op.f("ix_import_runs__tenant_id_created_id"),
        "import_runs",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_table(
        "redirects",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("source", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("destination", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("status_code", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_redirects__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_redirects")),
    )
    op.create_index(op.f("ix_redirects__id"), "redirects", ["id"], unique=False)
    op.create_index(
        op.f("ix_redirects__tenant_id_created_id"),
        "redirects",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_redirects__tenant_id_source"),
        "redirects",
        ["tenant_id", "source"],
        unique=True,
        sqlite_where=None,
        postgresql_where=None,
    )
    share("import_items", "tenant_id")
    share("import_runs", "tenant_id")
    share("redirects", "tenant_id")
