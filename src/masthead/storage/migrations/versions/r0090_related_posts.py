"""Related posts, and the setting that shows them: on every site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0090"
down_revision = "0089"


def upgrade() -> None:
    op.create_table(
        "related_marks",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("version", types.Integer(), nullable=False),
        sa.Column("updated", types.Text(), nullable=False),
        sa.Column("post_id", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_related_marks")),
    )
    op.create_table(
        "related_posts",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("post_id", types.Text(), nullable=False),
        sa.Column("related", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "post_id", name=op.f("pk_related_posts")),
    )
    op.add_column(
        "site_settings",
        sa.Column("related_posts", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
    op.execute("UPDATE site_settings SET related_posts = TRUE")
    share("related_marks", "tenant_id")
    share("related_posts", "tenant_id")
