"""Signed calls of mail providers that were taken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0073"
down_revision = "0072"
rolling = True


def upgrade() -> None:
    op.create_table(
        "mail_report_tokens",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("token_hash", types.Text(), nullable=False),
        sa.Column("body_hash", types.Text(), nullable=False),
        sa.Column("is_done", types.Integer(), nullable=False),
        sa.Column("expires", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "token_hash", name=op.f("pk_mail_report_tokens")),
    )
    op.create_index("ix_mail_report_tokens__expires", "mail_report_tokens", ["expires"])
    share("mail_report_tokens", "tenant_id")
