"""Members have a paid level and access with an end, and posts are for chosen levels.

Not rolling: an older process would show a post for a chosen level to every paid member.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0077"
down_revision = "0076"

# The subscriptions of before are of the level that has their price now.
_SUBSCRIPTIONS = """
UPDATE payment_subscriptions SET price_event_created = event_created, tier_id = COALESCE((
    SELECT MIN(t.id) FROM tiers t WHERE t.tenant_id = payment_subscriptions.tenant_id
    AND t.payment_price_id = payment_subscriptions.payment_price_id
), '') WHERE payment_price_id <> ''
"""
_MEMBERS = """
UPDATE blog_members SET tier_id = (
    SELECT MIN(s.tier_id) FROM payment_subscriptions s
    WHERE s.tenant_id = blog_members.tenant_id AND s.member_id = blog_members.id
    AND s.tier = 'paid' AND s.tier_id <> ''
) WHERE tier = 'paid'
"""


def upgrade() -> None:
    for name in ("tier_id", "access_tier_id"):
        op.add_column("blog_members", sa.Column(name, types.Text(), nullable=True))
    for table, name in (
        ("blog_members", "access_until"),
        ("payment_subscriptions", "price_event_created"),
        ("payment_subscriptions", "tier_id"),
    ):
        op.add_column(
            table, sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
        )
    for table in ("posts", "post_revisions", "post_working_copies"):
        op.add_column(
            table, sa.Column("tiers", types.Json(), server_default=sa.text("'[]'"), nullable=False)
        )
    op.execute(_SUBSCRIPTIONS)
    op.execute(_MEMBERS)
    op.create_index(
        op.f("ix_blog_members__access_until"),
        "blog_members",
        ["access_until"],
        sqlite_where=sa.text("access_until != ''"),
        postgresql_where=sa.text("access_until != ''"),
    )
    op.create_index(
        op.f("ix_blog_members__tenant_id_access_tier_id"),
        "blog_members",
        ["tenant_id", "access_tier_id"],
        sqlite_where=sa.text("access_tier_id != ''"),
        postgresql_where=sa.text("access_tier_id != ''"),
    )
    op.create_index(
        op.f("ix_blog_members__tenant_id_tier_id_created_id"),
        "blog_members",
        ["tenant_id", "tier_id", "created", "id"],
    )
