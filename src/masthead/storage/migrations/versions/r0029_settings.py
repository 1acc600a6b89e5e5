"""A site asks for a domain of its own before it is served there; the last payment events are read
in their order; a mail that could not be sent says why."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column("wanted_domain", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_index(
        "ix_payment_inbox__received", "payment_inbox", ["tenant_id", "received"], unique=False
    )
    for name in ("failed_at", "failure"):
        op.add_column(
            "mails", sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
        )
    op.add_column(
        "mails", sa.Column("gave_up", types.Flag(), server_default=sa.false(), nullable=False)
    )
    op.create_index(
        "ix_mails__failed",
        "mails",
        ["tenant_id", "failed_at"],
        unique=False,
        sqlite_where=sa.text("failed_at <> ''"),
        postgresql_where=sa.text("failed_at <> ''"),
    )
