"""The ETag of an answer that is given again for the same `Idempotency-Key`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0070"
down_revision = "0069"
rolling = True


def upgrade() -> None:
    op.add_column(
        "remembered_answers",
        sa.Column("etag", types.Text(), server_default=sa.text("''"), nullable=False),
    )
