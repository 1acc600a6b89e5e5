"""Welcome emails are written in the editor and sent as mailings. Their Markdown stays till then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    for name, kind, default in (
        ("content_html", types.Text(), "''"),
        ("content_source", types.Text(), "'html'"),
        ("content_clean", types.Text(), "''"),
        ("clean_rules", types.Integer(), "0"),
    ):
        op.add_column(
            "welcome_emails",
            sa.Column(name, kind, server_default=sa.text(default), nullable=False),
        )
    op.add_column("welcome_emails", sa.Column("content_json", types.Json(), nullable=True))
    op.add_column(
        "mailings", sa.Column("welcome", types.Text(), server_default=sa.text("''"), nullable=False)
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_welcome"),
        "mailings",
        ["tenant_id", "welcome"],
        unique=True,
        sqlite_where=sa.text("welcome != ''"),
        postgresql_where=sa.text("welcome != ''"),
    )
