"""Second factors of staff and operators: authenticator apps and recovery codes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    op.add_column(
        "_superusers",
        sa.Column("totp_secret", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "_superusers",
        sa.Column("totp_step", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "_superusers",
        sa.Column("recovery_hashes", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )
