"""Sites may require second factors, and a sign-in knows when its person has proved who they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    op.add_column(
        "site_settings",
        sa.Column(
            "require_second_factor", types.Flag(), server_default=sa.text("false"), nullable=False
        ),
    )
    op.add_column(
        "sign_ins",
        sa.Column("proved_at", types.Text(), server_default=sa.text("''"), nullable=False),
    )
