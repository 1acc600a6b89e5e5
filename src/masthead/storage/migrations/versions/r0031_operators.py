"""Operators see the queue and the errors of the service without reading all of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    is_leased, has_failed = sa.text("leased_until != ''"), sa.text("failed_at != ''")
    op.create_index(
        "ix_jobs__leased",
        "jobs",
        ["kind", "leased_until"],
        sqlite_where=is_leased,
        postgresql_where=is_leased,
    )
    op.create_index(
        "ix_jobs__failed",
        "jobs",
        ["failed_at"],
        sqlite_where=has_failed,
        postgresql_where=has_failed,
    )
    op.create_index("ix_request_errors__tenant_id", "request_errors", ["tenant_id"])
