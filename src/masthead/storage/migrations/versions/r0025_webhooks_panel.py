"""Attempts hold the request as it was sent, subscriptions their last answer and who disabled them;
deliveries are listed by event, and by state within a subscription; retries run in the background.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0025"
down_revision = "0024"

# Failures disable a subscription with a count; a person mostly without.
_PAUSED = (
    "UPDATE webhook_subscriptions SET paused = true WHERE disabled_at != '' AND failure_count = 0"
)


def upgrade() -> None:
    _add_columns()
    for filters in (["webhook_id", "state"], ["event"]):
        columns = ["tenant_id", *filters, "created", "id"]
        op.create_index(
            op.f(f"ix_webhook_deliveries__{'_'.join(columns)}"), "webhook_deliveries", columns
        )
    op.create_table(
        "webhook_retries",
        *(
            sa.Column(name, types.Text(), nullable=False)
            for name in ("tenant_id", "id", "webhook_id", "event", "since")
        ),
        sa.Column("total", types.Integer(), nullable=False),
        sa.Column("retried", types.Integer(), nullable=False),
        sa.Column("created", types.Text(), nullable=False),
        sa.Column("finished", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_webhook_retries")),
    )
    op.create_index(
        "ix_webhook_retries__tenant_id_created", "webhook_retries", ["tenant_id", "created"]
    )
    op.create_index("ix_webhook_retries__created", "webhook_retries", ["created"])
    share("webhook_retries", "tenant_id")


def _add_columns() -> None:
    for name in ("url", "signature", "standard_signature"):
        op.add_column(
            "webhook_attempts",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
    op.add_column(
        "webhook_attempts",
        sa.Column("signed_at", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column("webhook_subscriptions", sa.Column("last_status", types.Integer(), nullable=True))
    op.add_column(
        "webhook_subscriptions",
        sa.Column("paused", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
    op.execute(_PAUSED)
