"""Which processes run, so that a migration can tell whether older ones do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0063"
down_revision = "0062"
rolling = True


def upgrade() -> None:
    op.create_table(
        "running_processes",
        *(sa.Column(name, types.Text(), nullable=False) for name in ("id", "version", "revision")),
        sa.Column("seen_at", types.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_running_processes")),
    )
    share("running_processes", None)
