"""Members by the time of their last change."""

from __future__ import annotations

from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.create_index(
        op.f("ix_blog_members__tenant_id_updated"),
        "blog_members",
        ["tenant_id", "updated"],
        unique=False,
        sqlite_where=None,
    )
