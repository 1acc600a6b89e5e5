"""Links in emails by which readers join and sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "member_links",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("token_hash", types.Text(), nullable=False),
        sa.Column("purpose", types.Text(), nullable=False),
        sa.Column("email", types.Text(), nullable=False),
        sa.Column("member_id", types.Text(), nullable=True),
        sa.Column("account_mark", types.Text(), nullable=False),
        sa.Column("newsletter", types.Flag(), nullable=False),
        sa.Column("back", types.Text(), nullable=False),
        sa.Column("expires", types.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "member_id"],
            ["blog_members.tenant_id", "blog_members.id"],
            name=op.f("fk_member_links__tenant_id_member_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "token_hash", name=op.f("pk_member_links")),
    )
    op.create_index("ix_member_links__expires", "member_links", ["expires"], unique=False)
    for name in ("email", "member_id"):
        op.create_index(
            f"ix_member_links__tenant_id_{name}", "member_links", ["tenant_id", name], unique=False
        )
    share("member_links", "tenant_id")
