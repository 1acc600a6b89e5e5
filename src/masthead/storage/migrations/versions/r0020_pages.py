"""Pages are listed by when they were changed and by title, counted by status, and searched."""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"

_COUNTED = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'pages', 'status', status, count(*) FROM pages GROUP BY tenant_id, status
"""
_OLD_COUNTS = "DELETE FROM record_counts WHERE collection = 'pages' AND counter = ''"
# Negative: the record is not in the index yet.
_QUEUED = """
INSERT INTO search_queue (tenant_id, collection, record_id, version)
SELECT tenant_id, 'pages', id, -1 FROM pages
"""


def upgrade() -> None:
    for names in (("updated", "id"), ("status", "updated", "id"), ("title", "id")):
        op.create_index(
            op.f(f"ix_pages__tenant_id_{'_'.join(names)}"), "pages", ["tenant_id", *names]
        )
    for statement in (_OLD_COUNTS, _COUNTED, _QUEUED):
        op.execute(statement)
