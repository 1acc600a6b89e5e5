"""Staff accounts have a language for the admin."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0094"
down_revision = "0093"
rolling = True


def upgrade() -> None:
    op.add_column(
        "_superusers",
        sa.Column("language", types.Text(), server_default=sa.text("''"), nullable=False),
    )
