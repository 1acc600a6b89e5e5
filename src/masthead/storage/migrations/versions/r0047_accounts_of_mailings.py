"""Recipients are found by what became of their email, and stopped addresses and the readers of a
newsletter without reading all members."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"

# Also counts of the new kind: a restored backup may hold them.
_UNCOUNTED = """
DELETE FROM record_counts
WHERE collection = 'blog_members' AND counter = 'each newsletters_off,status,newsletter'
"""
_ITEMS = {
    "sqlite": "json_each(m.newsletters_off) AS off",
    "postgresql": "jsonb_array_elements_text(m.newsletters_off) AS off(value)",
}
# The parts of a bucket are separated by U+001F.
_COUNTED = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'blog_members', 'each newsletters_off,status,newsletter', counted.bucket, count(*)
FROM (
  SELECT DISTINCT m.tenant_id, m.id,
    off.value || '\x1f' || m.status || '\x1f'
    || CASE WHEN m.newsletter THEN 'True' ELSE 'False' END AS bucket
  FROM blog_members AS m CROSS JOIN {items}
) AS counted
GROUP BY tenant_id, counted.bucket
"""


def upgrade() -> None:
    for name, columns, where in (
        ("notable", ["state"], "state IN ('failed', 'uncertain', 'unsubscribed')"),
        ("reported", ["report"], "report <> ''"),
    ):
        op.create_index(
            f"ix_mailing_recipients__{name}",
            "mailing_recipients",
            ["tenant_id", "mailing_id", *columns, "member_id"],
            unique=False,
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
    op.create_index(
        op.f("ix_blog_members__tenant_id_mail_state_mail_state_at_id"),
        "blog_members",
        ["tenant_id", "mail_state", "mail_state_at", "id"],
        unique=False,
        sqlite_where=None,
    )
    items = _ITEMS[op.get_bind().dialect.name]
    op.execute(_UNCOUNTED)
    op.execute(_COUNTED.format(items=items))
