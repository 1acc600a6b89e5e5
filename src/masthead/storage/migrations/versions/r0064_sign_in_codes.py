"""Codes in emails by which readers and staff sign in, and sign-ups through the record store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0064"
down_revision = "0063"
rolling = True


def upgrade() -> None:
    op.create_table(
        "sign_in_codes",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("code_id", types.Text(), nullable=False),
        sa.Column("code_hash", types.Text(), nullable=False),
        sa.Column("email", types.Text(), nullable=False),
        sa.Column("link_hash", types.Text(), nullable=True),
        sa.Column("staff_id", types.Text(), nullable=True),
        sa.Column("account_mark", types.Text(), nullable=False),
        sa.Column("expires", types.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "link_hash"],
            ["member_links.tenant_id", "member_links.token_hash"],
            name=op.f("fk_sign_in_codes__tenant_id_link_hash"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "staff_id"],
            ["_superusers.tenant_id", "_superusers.id"],
            name=op.f("fk_sign_in_codes__tenant_id_staff_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "code_id", "code_hash", name=op.f("pk_sign_in_codes")),
    )
    for name in ("code_id", "expires"):
        op.create_index(f"ix_sign_in_codes__{name}", "sign_in_codes", [name], unique=False)
    for name in ("link_hash", "staff_id"):
        op.create_index(
            f"ix_sign_in_codes__tenant_id_{name}",
            "sign_in_codes",
            ["tenant_id", name],
            unique=False,
        )
    op.add_column(
        "member_links",
        sa.Column("details", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    share("sign_in_codes", "tenant_id")
