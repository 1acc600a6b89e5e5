"""A site says who may use its AI."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column("ai_for", types.Text(), server_default=sa.text("''"), nullable=False),
    )
