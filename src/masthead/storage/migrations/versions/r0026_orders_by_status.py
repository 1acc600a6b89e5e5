"""Orders of a status are read newest first."""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_index(
        "ix_orders__tenant_id_status_created_id",
        "orders",
        ["tenant_id", "status", "created", "id"],
    )
