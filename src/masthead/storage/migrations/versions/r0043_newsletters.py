"""Newsletters, of which every site has one, and whether emails reach a member."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0043"
down_revision = "0042"

# The id of the settings is as good as any: ids are unique in each collection of a site.
_MAIN = """
INSERT INTO newsletters (tenant_id, id, slug, name, is_default, created, updated, version)
SELECT tenant_id, id, 'main', substr(site_name, 1, 100), true, created, created, 1
FROM site_settings
"""
_OLD_COUNTS = "DELETE FROM record_counts WHERE collection = 'newsletters'"
_COUNTED = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'newsletters', '', '', 1 FROM newsletters
"""


def upgrade() -> None:
    op.create_table(
        "newsletters",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("slug", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("description", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("sender_name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("reply_to", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("is_default", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_newsletters__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_newsletters")),
    )
    op.create_index(op.f("ix_newsletters__id"), "newsletters", ["id"], unique=False)
    op.create_index(
        op.f("ix_newsletters__tenant_id_created_id"),
        "newsletters",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_newsletters__tenant_id_slug"),
        "newsletters",
        ["tenant_id", "slug"],
        unique=True,
        sqlite_where=None,
    )
    op.add_column(
        "blog_members",
        sa.Column("newsletters_off", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )
    op.add_column(
        "blog_members",
        sa.Column("mail_state", types.Text(), server_default=sa.text("'ok'"), nullable=False),
    )
    op.add_column(
        "blog_members",
        sa.Column("mail_state_at", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "blog_members",
        sa.Column("mail_state_reason", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        op.f("ix_blog_members__email"), "blog_members", ["email"], unique=False, sqlite_where=None
    )
    share("newsletters", "tenant_id")
    for statement in (_MAIN, _OLD_COUNTS, _COUNTED):
        op.execute(statement)
