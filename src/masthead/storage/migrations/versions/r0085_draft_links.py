"""Share links of drafts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0085"
down_revision = "0084"
rolling = True


def upgrade() -> None:
    op.create_table(
        "draft_links",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("post_id", types.Text(), nullable=False),
        sa.Column("token_hash", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("made_by", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("expires_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "post_id"],
            ["posts.tenant_id", "posts.id"],
            name=op.f("fk_draft_links__tenant_id_post_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_draft_links__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_draft_links")),
    )
    op.create_index(
        op.f("ix_draft_links__expires_at"),
        "draft_links",
        ["expires_at"],
        sqlite_where=sa.text("expires_at != ''"),
        postgresql_where=sa.text("expires_at != ''"),
    )
    op.create_index(op.f("ix_draft_links__id"), "draft_links", ["id"])
    op.create_index(
        op.f("ix_draft_links__tenant_id_created_id"), "draft_links", ["tenant_id", "created", "id"]
    )
    op.create_index(
        op.f("ix_draft_links__tenant_id_post_id_created_id"),
        "draft_links",
        ["tenant_id", "post_id", "created", "id"],
    )
    op.create_index(
        op.f("ix_draft_links__tenant_id_token_hash"),
        "draft_links",
        ["tenant_id", "token_hash"],
        unique=True,
    )
    share("draft_links", "tenant_id")
