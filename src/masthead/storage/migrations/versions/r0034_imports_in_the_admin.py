"""Imports are previewed, run and undone in the admin: what a run has created is known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.add_column(
        "import_items",
        sa.Column("run_id", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        op.f("ix_import_items__tenant_id_run_id_collection"),
        "import_items",
        ["tenant_id", "run_id", "collection"],
        unique=False,
    )
    op.add_column(
        "import_runs",
        sa.Column("task", types.Text(), server_default=sa.text("'import'"), nullable=False),
    )
    op.add_column(
        "import_runs",
        sa.Column("file_size", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
