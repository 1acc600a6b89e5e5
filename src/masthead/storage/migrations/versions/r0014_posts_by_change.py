"""Posts are listed by when they were changed, and by title."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_index(op.f("ix_posts__tenant_id_updated_id"), "posts", ["tenant_id", "updated", "id"])
    op.create_index(op.f("ix_posts__tenant_id_title_id"), "posts", ["tenant_id", "title", "id"])
