"""Comments are found by their words, and what one person wrote is read in its order."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"

# -1: not in the index yet.
_QUEUED = """
INSERT INTO search_queue (tenant_id, collection, record_id, version)
SELECT tenant_id, 'comments', id, -1 FROM comments
"""


def upgrade() -> None:
    for name in ("author_email", "member_id"):
        op.drop_index(f"ix_comments__tenant_id_{name}", table_name="comments")
        op.create_index(
            f"ix_comments__tenant_id_{name}_created_id_status",
            "comments",
            ["tenant_id", name, "created", "id", "status"],
        )
    op.execute(_QUEUED)
