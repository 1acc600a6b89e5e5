"""Views of the pages of sites, by day. Every site counts them, unless an owner turns it off.

Not rolling: a site that an older process creates during the upgrade would begin with it off."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column("count_views", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
    op.execute("UPDATE site_settings SET count_views = true")
    for name in ("joined_from", "paid_from"):
        op.add_column(
            "blog_members",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
    op.create_table(
        "view_counts",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("kind", types.Text(), nullable=False),
        sa.Column("day", types.Text(), nullable=False),
        sa.Column("subject", types.Text(), nullable=False),
        sa.Column("views", types.Integer(), nullable=False),
        sa.Column("readers", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "day", "subject", name=op.f("pk_view_counts")),
    )
    op.create_index("ix_view_counts__day", "view_counts", ["day"])
    op.create_table(
        "day_salts",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("day", types.Text(), nullable=False),
        sa.Column("salt", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day", name=op.f("pk_day_salts")),
    )
    op.create_table(
        "day_readers",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("day", types.Text(), nullable=False),
        sa.Column("reader", types.Text(), nullable=False),
        sa.Column("subject", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "day", "reader", "subject", name=op.f("pk_day_readers")
        ),
        sqlite_with_rowid=False,
    )
    for name in ("view_counts", "day_salts", "day_readers"):
        share(name, "tenant_id")
