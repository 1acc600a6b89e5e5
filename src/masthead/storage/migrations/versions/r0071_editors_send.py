"""Owners choose whether editors send mailings. They do, unless an owner turns it off.

Not rolling: a site that an older process creates during the upgrade would begin with it off."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column(
            "editors_send_mailings", types.Flag(), server_default=sa.text("false"), nullable=False
        ),
    )
    op.execute("UPDATE site_settings SET editors_send_mailings = true")
