"""Weekly digests of newsletters: mailings of no single post."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.add_column(
        "mailings",
        sa.Column("kind", types.Text(), server_default=sa.text("'post'"), nullable=False),
    )
    op.add_column(
        "mailings",
        sa.Column("digest_from", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "mailings",
        sa.Column("digest_until", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_digest_until_newsletter"),
        "mailings",
        ["tenant_id", "digest_until", "newsletter"],
        unique=True,
        sqlite_where=sa.text("digest_until != ''"),
        postgresql_where=sa.text("digest_until != ''"),
    )
    op.add_column(
        "newsletters",
        sa.Column("digest", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column(
        "newsletters",
        sa.Column(
            "digest_weekday", types.Text(), server_default=sa.text("'monday'"), nullable=False
        ),
    )
    op.add_column(
        "newsletters",
        sa.Column("digest_hour", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "newsletters",
        sa.Column("digest_at", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "newsletters",
        sa.Column("digest_since", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        op.f("ix_newsletters__digest_at"),
        "newsletters",
        ["digest_at"],
        unique=False,
        sqlite_where=sa.text("digest_at != ''"),
        postgresql_where=sa.text("digest_at != ''"),
    )
    op.execute("UPDATE newsletters SET digest_hour = 8")
