"""Mailings and their recipients, and how many a site may have in a month."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.create_table(
        "mailings",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("post_id", types.Text(), nullable=True),
        sa.Column("newsletter", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("subject", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("audience", types.Text(), server_default=sa.text("'all'"), nullable=False),
        sa.Column("labels", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("status", types.Text(), server_default=sa.text("'sending'"), nullable=False),
        sa.Column("reason", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("recipients", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("sent", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("uncertain", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("bounced", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("complained", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("unsubscribed", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("opens", types.Integer(), nullable=True),
        sa.Column("clicks", types.Integer(), nullable=True),
        sa.Column("scheduled_for", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("started_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("finished_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("tried_before", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("bounced_before", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "post_id"],
            ["posts.tenant_id", "posts.id"],
            name=op.f("fk_mailings__tenant_id_post_id"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_mailings__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_mailings")),
    )
    op.create_index(op.f("ix_mailings__id"), "mailings", ["id"], unique=False)
    op.create_index(
        op.f("ix_mailings__status_scheduled_for"),
        "mailings",
        ["status", "scheduled_for"],
        unique=False,
        sqlite_where=None,
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_created_id"),
        "mailings",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_post_id_newsletter"),
        "mailings",
        ["tenant_id", "post_id", "newsletter"],
        unique=True,
        sqlite_where=sa.text("post_id != ''"),
        postgresql_where=sa.text("post_id != ''"),
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_started_at"),
        "mailings",
        ["tenant_id", "started_at"],
        unique=False,
        sqlite_where=sa.text("started_at != ''"),
        postgresql_where=sa.text("started_at != ''"),
    )
    op.create_index(
        op.f("ix_mailings__tenant_id_status_created_id"),
        "mailings",
        ["tenant_id", "status", "created", "id"],
        unique=False,
        sqlite_where=None,
    )
    op.create_table(
        "mailing_recipients",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("mailing_id", types.Text(), nullable=False),
        sa.Column("member_id", types.Text(), nullable=False),
        sa.Column("state", types.Text(), nullable=False),
        sa.Column("due_at", types.Text(), nullable=False),
        sa.Column("claimed_by", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("attempts", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reply", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("ended_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("report", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "mailing_id"],
            ["mailings.tenant_id", "mailings.id"],
            name=op.f("fk_mailing_recipients__tenant_id_mailing_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "mailing_id", "member_id", name=op.f("pk_mailing_recipients")
        ),
    )
    op.create_index(
        "ix_mailing_recipients__open",
        "mailing_recipients",
        ["tenant_id", "mailing_id", "due_at"],
        unique=False,
        sqlite_where=sa.text("due_at <> ''"),
        postgresql_where=sa.text("due_at <> ''"),
    )
    op.create_index(
        "ix_mailing_recipients__tenant_id_member_id",
        "mailing_recipients",
        ["tenant_id", "member_id"],
        unique=False,
    )
    op.add_column("tenants", sa.Column("mails_per_month", types.Integer(), nullable=True))
    share("mailings", "tenant_id")
    share("mailing_recipients", "tenant_id")
