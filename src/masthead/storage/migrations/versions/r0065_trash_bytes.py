"""How many bytes the trash of each site holds. What is in it already counts as nothing until it is
deleted for good: an older process that restores it knows no sum."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0065"
down_revision = "0064"
rolling = True


def upgrade() -> None:
    op.add_column(
        "trash", sa.Column("size", types.Integer(), server_default=sa.text("0"), nullable=False)
    )
