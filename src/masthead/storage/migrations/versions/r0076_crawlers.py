"""A site says which crawlers may read it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0076"
down_revision = "0075"
rolling = True


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column("crawlers", types.Text(), server_default=sa.text("'all'"), nullable=False),
    )
