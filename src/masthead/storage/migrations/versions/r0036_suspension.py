"""A site can be suspended, with a reason for its owner."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    for name, default in (("status", "active"), ("suspended_at", ""), ("suspension_reason", "")):
        op.add_column(
            "tenants",
            sa.Column(name, types.Text(), server_default=sa.text(f"'{default}'"), nullable=False),
        )
    op.create_index(
        "ix_tenants__status_created_id", "tenants", ["status", "created", "id"], unique=False
    )
