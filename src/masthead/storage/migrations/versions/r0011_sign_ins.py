"""Sign-ins have a table, so that each can be listed and ended.

Sessions that began before it have no row: they end with their token.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("member_id", types.Text(), nullable=True),
        sa.Column("staff_id", types.Text(), nullable=True),
        sa.Column("account_mark", types.Text(), nullable=False),
        sa.Column("address", types.Text(), nullable=False),
        sa.Column("user_agent", types.Text(), nullable=False),
        sa.Column("created", types.Text(), nullable=False),
        sa.Column("last_seen", types.Text(), nullable=False),
        sa.Column("expires", types.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "member_id"],
            ["blog_members.tenant_id", "blog_members.id"],
            name=op.f("fk_sign_ins__tenant_id_member_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "staff_id"],
            ["_superusers.tenant_id", "_superusers.id"],
            name=op.f("fk_sign_ins__tenant_id_staff_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_sign_ins")),
    )
    op.create_index("ix_sign_ins__expires", "sign_ins", ["expires"], unique=False)
    for owner in ("member_id", "staff_id"):
        op.create_index(
            f"ix_sign_ins__tenant_id_{owner}", "sign_ins", ["tenant_id", owner], unique=False
        )
    share("sign_ins", "tenant_id")
