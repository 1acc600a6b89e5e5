"""A webhook has a filter and headers of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0080"
down_revision = "0079"
rolling = True


def upgrade() -> None:
    for name in ("filter", "headers"):
        op.add_column(
            "webhook_subscriptions",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
    op.add_column(
        "webhook_subscriptions",
        sa.Column("header_names", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )
