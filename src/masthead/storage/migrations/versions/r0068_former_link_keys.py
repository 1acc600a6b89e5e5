"""Keys of links in emails that a site sent before it was moved here."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0068"
down_revision = "0067"
rolling = True


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column("former_link_keys", types.Text(), server_default=sa.text("''"), nullable=False),
    )
