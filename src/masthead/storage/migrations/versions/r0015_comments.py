"""Sites say who comments; comments know their thread and the account that wrote them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0015"
down_revision = "0014"

# A thread is found once and then read by its id, however deep it is.
_THREADS = """
WITH RECURSIVE chains (tenant_id, id, root) AS (
  SELECT tenant_id, id, id FROM comments WHERE parent_id IS NULL
  UNION ALL
  SELECT comments.tenant_id, comments.id, chains.root
  FROM comments JOIN chains
    ON comments.tenant_id = chains.tenant_id AND comments.parent_id = chains.id
)
UPDATE comments SET thread_id = chains.root FROM chains
WHERE chains.tenant_id = comments.tenant_id AND chains.id = comments.id
  AND comments.parent_id IS NOT NULL
"""
_LISTED = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT tenant_id, 'comments', 'threads', post_id, created, id FROM comments
WHERE parent_id IS NULL AND status = 'approved'
ON CONFLICT DO NOTHING
"""
# The parts of a bucket are separated by U+001F.
_COUNTED = """
UPDATE record_counts SET counter = 'post_id,status,shown_as', bucket = bucket || '\x1ftext'
WHERE collection = 'comments' AND counter = 'post_id,status'
"""


def upgrade() -> None:
    for table in ("_superusers", "blog_members"):
        op.add_column(
            table,
            sa.Column(
                "comment_mails_off", types.Flag(), server_default=sa.text("false"), nullable=False
            ),
        )
    for table, name, default in (
        ("site_settings", "comments_by", "members"),
        ("site_settings", "comments_moderation", "guests"),
        ("comments", "thread_id", ""),
        ("comments", "shown_as", "text"),
        ("comments", "member_id", ""),
        ("comments", "staff_id", ""),
    ):
        op.add_column(table, _text(name, default))
    for statement in (_THREADS, _LISTED, _COUNTED):
        op.execute(statement)
    has_member = sa.text("member_id != ''")
    op.create_index(
        op.f("ix_comments__tenant_id_member_id"),
        "comments",
        ["tenant_id", "member_id"],
        sqlite_where=has_member,
        postgresql_where=has_member,
    )
    op.create_index(
        op.f("ix_comments__tenant_id_thread_id_status_created_id"),
        "comments",
        ["tenant_id", "thread_id", "status", "created", "id"],
    )


def _text(name: str, default: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text(f"'{default}'"), nullable=False)
