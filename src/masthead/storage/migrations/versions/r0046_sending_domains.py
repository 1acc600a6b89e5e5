"""The domains that emails are sent from, with their keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    op.create_table(
        "sending_domains",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("domain", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("selector", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("public_key", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("private_key", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("is_ready", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("problem", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("checked_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("check_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_sending_domains")),
    )
    op.create_index(
        op.f("ix_sending_domains__check_at"),
        "sending_domains",
        ["check_at"],
        unique=False,
        sqlite_where=sa.text("check_at != ''"),
        postgresql_where=sa.text("check_at != ''"),
    )
    op.create_index(op.f("ix_sending_domains__id"), "sending_domains", ["id"], unique=False)
    op.create_index(
        op.f("ix_sending_domains__tenant_id_created_id"),
        "sending_domains",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_sending_domains__tenant_id_domain"),
        "sending_domains",
        ["tenant_id", "domain"],
        unique=True,
        sqlite_where=None,
    )
    share("sending_domains", "tenant_id")
