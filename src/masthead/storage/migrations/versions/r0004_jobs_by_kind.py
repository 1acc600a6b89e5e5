"""Jobs are claimed by kind."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.drop_index("ix_jobs__failed_at_run_at", table_name="jobs")
    op.create_index(
        "ix_jobs__kind_failed_at_run_at", "jobs", ["kind", "failed_at", "run_at"], unique=False
    )
