"""Drafts are found by when they were changed, however many posts are published."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_index(
        op.f("ix_posts__tenant_id_status_updated_id"),
        "posts",
        ["tenant_id", "status", "updated", "id"],
    )
