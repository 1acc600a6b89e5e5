"""Posts that are only emailed, without a page on the site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0053"
down_revision = "0052"

_OLD_INDEX = "ix_posts__tenant_id_visibility_status_created_id_published_at"
_PUBLIC = ("tenant_id", "visibility", "status", "created", "id", "published_at", "email_only")
# Also counts of the new kind: a restored backup may hold them.
_UNCOUNTED = """
DELETE FROM record_counts
WHERE collection = 'posts' AND counter IN ('status,visibility', 'status,visibility,email_only')
"""
# The parts of a bucket are separated by U+001F.
_COUNTED = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'posts', 'status,visibility,email_only', counted.bucket, count(*)
FROM (
  SELECT tenant_id,
    status || '\x1f' || visibility || '\x1f'
    || CASE WHEN email_only THEN 'True' ELSE 'False' END AS bucket
  FROM posts
) AS counted
GROUP BY tenant_id, counted.bucket
"""


def upgrade() -> None:
    for table in ("posts", "post_working_copies", "post_revisions"):
        op.add_column(
            table,
            sa.Column("email_only", types.Flag(), server_default=sa.text("false"), nullable=False),
        )
    op.drop_index(_OLD_INDEX, table_name="posts")
    op.create_index("ix_posts__public", "posts", list(_PUBLIC))
    for statement in (_UNCOUNTED, _COUNTED):
        op.execute(statement)
