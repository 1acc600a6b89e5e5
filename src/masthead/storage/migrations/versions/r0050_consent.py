"""How, when and where members agreed to get newsletters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    for name in ("consent_source", "consent_at", "consent_form"):
        op.add_column(
            "blog_members",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
