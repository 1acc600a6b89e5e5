"""A draft is ready for review, or was sent back with a note."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0083"
down_revision = "0082"
rolling = True


def upgrade() -> None:
    for name in ("review", "review_note", "review_at", "review_by"):
        op.add_column(
            "posts", sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
        )
