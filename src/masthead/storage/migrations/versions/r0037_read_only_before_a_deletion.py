"""A deletion of a site knows whether the site was read-only before it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    # Deletions that wait already count as of a site that was not: cancelling ends its read-only
    # mode, as it did before.
    op.add_column(
        "gdpr_requests",
        sa.Column("was_read_only", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
