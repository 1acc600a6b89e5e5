"""Posts are found by readers and by when they were changed, and the drafts of a tag or an author
without reading their published posts."""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"

# A cross join: SQLite reads the items first, and each post by its key.
_DRAFTS = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT items.tenant_id, 'posts', 'draft {field}', items.value, items.created, items.record_id
FROM listed_values AS items CROSS JOIN posts
WHERE items.collection = 'posts' AND items.field = '{field}'
  AND posts.tenant_id = items.tenant_id AND posts.id = items.record_id AND posts.status = 'draft'
ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    op.create_index(
        op.f("ix_posts__tenant_id_visibility_updated_id"),
        "posts",
        ["tenant_id", "visibility", "updated", "id"],
    )
    for field in ("tags", "authors"):
        op.execute(_DRAFTS.format(field=field))
