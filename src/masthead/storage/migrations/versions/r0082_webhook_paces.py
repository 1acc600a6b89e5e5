"""A webhook has a pace, and a previous secret for a while."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0082"
down_revision = "0081"
rolling = True


def upgrade() -> None:
    op.add_column("webhook_subscriptions", sa.Column("per_minute", types.Integer(), nullable=True))
    for table, name in (
        ("webhook_subscriptions", "previous_secret"),
        ("webhook_subscriptions", "previous_secret_until"),
        ("webhook_lanes", "spent_until"),
    ):
        op.add_column(
            table, sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
        )
