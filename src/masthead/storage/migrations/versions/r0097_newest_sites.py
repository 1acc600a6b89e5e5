"""The newest sites are found without sorting all of them."""

from __future__ import annotations

from alembic import op

revision = "0097"
down_revision = "0096"
rolling = True


def upgrade() -> None:
    op.create_index("ix_tenants__created_id", "tenants", ["created", "id"])
