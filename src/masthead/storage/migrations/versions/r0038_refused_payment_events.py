"""A site's owner sees when a payment event was refused for its signature."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.create_table(
        "payment_refusals",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("refused", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_payment_refusals")),
    )
    share("payment_refusals", "tenant_id")
