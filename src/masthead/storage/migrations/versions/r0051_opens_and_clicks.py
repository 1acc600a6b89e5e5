"""Opens and clicks of mailings, where a newsletter counts them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    for name in ("opened_at", "clicked_at"):
        op.add_column(
            "mailing_recipients",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
    for name in ("count_opens", "count_clicks"):
        op.add_column(
            "newsletters",
            sa.Column(name, types.Flag(), server_default=sa.text("false"), nullable=False),
        )
