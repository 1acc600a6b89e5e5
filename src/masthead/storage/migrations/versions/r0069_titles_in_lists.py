"""The index of the public list has the title, so that a search in titles reads no row."""

from __future__ import annotations

from alembic import op

revision = "0069"
down_revision = "0068"
rolling = True

_NAME = "ix_posts__public"
_COLUMNS = ("tenant_id", "visibility", "status", "created", "id", "published_at", "email_only")


def upgrade() -> None:
    op.drop_index(_NAME, table_name="posts")
    op.create_index(_NAME, "posts", [*_COLUMNS, "title"])
