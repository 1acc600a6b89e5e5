"""Leases of deliveries have a table of their own; what a lane has to send next is an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0005"
down_revision = "0004"

_CARRY_OVER = (
    "INSERT INTO webhook_leases (webhook_id, tenant_id, delivery_id, until) "
    "SELECT webhook_id, tenant_id, id, leased_until FROM webhook_deliveries "
    "WHERE state = 'pending' AND leased_until != ''"
)


def upgrade() -> None:
    op.create_table(
        "webhook_leases",
        sa.Column("webhook_id", types.Text(), nullable=False),
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("delivery_id", types.Text(), nullable=False),
        sa.Column("until", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("webhook_id", "tenant_id", "delivery_id", name="pk_webhook_leases"),
        sqlite_with_rowid=False,
    )
    share("webhook_leases", "tenant_id")
    op.execute(_CARRY_OVER)
    op.drop_index(
        op.f("ix_webhook_deliveries__tenant_id_webhook_id_state_next_attempt_at"),
        table_name="webhook_deliveries",
    )
    op.drop_column("webhook_deliveries", "leased_until")
    is_pending = sa.text("next_attempt_at != ''")
    op.create_index(
        op.f("ix_webhook_deliveries__tenant_id_webhook_id_next_attempt_at_id_event_id_attempts"),
        "webhook_deliveries",
        ["tenant_id", "webhook_id", "next_attempt_at", "id", "event_id", "attempts"],
        unique=False,
        sqlite_where=is_pending,
        postgresql_where=is_pending,
    )
