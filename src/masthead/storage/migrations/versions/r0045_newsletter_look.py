"""The look of a newsletter's emails: picture at the top, colour of links, last lines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    for name in ("header_image", "accent_color", "footer"):
        op.add_column(
            "newsletters",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
