"""Members have labels, a note and a history, and are found by name and address."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0028"
down_revision = "0027"


# Also counts of the new kind: a restored backup may hold them.
_UNCOUNTED = """
DELETE FROM record_counts
WHERE collection = 'blog_members' AND counter IN ('tier', 'tier,status,newsletter')
"""
# The parts of a bucket are separated by U+001F.
_COUNTED = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'blog_members', 'tier,status,newsletter', counted.bucket, count(*)
FROM (
  SELECT tenant_id,
    tier || '\x1f' || status || '\x1f'
    || CASE WHEN newsletter THEN 'True' ELSE 'False' END AS bucket
  FROM blog_members
) AS counted
GROUP BY tenant_id, counted.bucket
"""
# -1: not in the index yet.
_QUEUED = """
INSERT INTO search_queue (tenant_id, collection, record_id, version)
SELECT tenant_id, 'blog_members', id, -1 FROM blog_members
"""


def upgrade() -> None:
    op.create_table(
        "member_history",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("member_id", types.Text(), nullable=False),
        sa.Column("what", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("was", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("now", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "member_id"],
            ["blog_members.tenant_id", "blog_members.id"],
            name=op.f("fk_member_history__tenant_id_member_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_member_history__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_member_history")),
    )
    op.create_index(op.f("ix_member_history__id"), "member_history", ["id"], unique=False)
    op.create_index(
        op.f("ix_member_history__tenant_id_created_id"),
        "member_history",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_member_history__tenant_id_member_id_created_id"),
        "member_history",
        ["tenant_id", "member_id", "created", "id"],
        unique=False,
    )
    op.add_column(
        "blog_members",
        sa.Column("labels", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )
    op.add_column(
        "blog_members",
        sa.Column("note", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        op.f("ix_blog_members__tenant_id_newsletter_created_id"),
        "blog_members",
        ["tenant_id", "newsletter", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_blog_members__tenant_id_status_created_id"),
        "blog_members",
        ["tenant_id", "status", "created", "id"],
        unique=False,
    )
    share("member_history", "tenant_id")
    for statement in (_UNCOUNTED, _COUNTED, _QUEUED):
        op.execute(statement)
