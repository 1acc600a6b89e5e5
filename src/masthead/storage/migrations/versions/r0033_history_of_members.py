"""The history of a member says who made a change, and which mails were sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_table(
        "member_mails",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("member_id", types.Text(), nullable=False),
        sa.Column("mail_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("template", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("state", types.Text(), server_default=sa.text("'waiting'"), nullable=False),
        sa.Column("ended_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "member_id"],
            ["blog_members.tenant_id", "blog_members.id"],
            name=op.f("fk_member_mails__tenant_id_member_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_member_mails__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_member_mails")),
    )
    op.create_index(op.f("ix_member_mails__id"), "member_mails", ["id"], unique=False)
    op.create_index(
        op.f("ix_member_mails__tenant_id_created_id"),
        "member_mails",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_member_mails__tenant_id_mail_id"),
        "member_mails",
        ["tenant_id", "mail_id"],
        unique=False,
        sqlite_where=sa.text("mail_id != ''"),
        postgresql_where=sa.text("mail_id != ''"),
    )
    op.create_index(
        op.f("ix_member_mails__tenant_id_member_id_created_id"),
        "member_mails",
        ["tenant_id", "member_id", "created", "id"],
        unique=False,
        sqlite_where=None,
    )
    op.add_column(
        "member_history",
        sa.Column("changed_by", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "member_history",
        sa.Column("account_id", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    share("member_mails", "tenant_id")
