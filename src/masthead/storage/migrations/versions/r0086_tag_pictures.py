"""Tags have pictures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0086"
down_revision = "0085"
rolling = True


def upgrade() -> None:
    op.add_column(
        "tags", sa.Column("picture", types.Text(), server_default=sa.text("''"), nullable=False)
    )
