"""Emails that welcome new members. Those who are here already are welcome."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0052"
down_revision = "0051"

_FREE = """UPDATE blog_members SET welcomed = '["free"]' WHERE tier <> 'paid'"""
_PAID = """UPDATE blog_members SET welcomed = '["free", "paid"]' WHERE tier = 'paid'"""


def upgrade() -> None:
    op.create_table(
        "welcome_emails",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("kind", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("is_on", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("subject", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("text", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_welcome_emails__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_welcome_emails")),
    )
    op.create_index(op.f("ix_welcome_emails__id"), "welcome_emails", ["id"], unique=False)
    op.create_index(
        op.f("ix_welcome_emails__tenant_id_created_id"),
        "welcome_emails",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_welcome_emails__tenant_id_kind"),
        "welcome_emails",
        ["tenant_id", "kind"],
        unique=True,
        sqlite_where=None,
    )
    op.add_column(
        "blog_members",
        sa.Column("welcomed", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )
    share("welcome_emails", "tenant_id")
    for statement in (_FREE, _PAID):
        op.execute(statement)
