"""Passkeys of staff and operators."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    op.add_column("_superusers", sa.Column("passkeys", types.Json(), nullable=True))
