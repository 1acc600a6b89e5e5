"""A link that confirms a sign-up knows which newsletters were chosen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    op.add_column(
        "member_links",
        sa.Column("newsletters", types.Text(), server_default=sa.text("''"), nullable=False),
    )
