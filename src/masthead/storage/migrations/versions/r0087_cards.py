"""Texts are cleaned again: the clean text has cards now. Not rolling: a worker of the older version
would take the jobs, and clean by its own rules."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.base import clock

revision = "0087"
down_revision = "0086"

_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)
_tenants = sa.table("tenants", sa.column("id"))


def upgrade() -> None:
    now = clock.to_text(clock.now())
    given = ("cleantextsagain", "texts.clean", "{}", now, now)
    values: list[sa.ColumnElement[Any]] = [sa.literal_column(f"'{each}'") for each in given]
    chosen = sa.select(_tenants.c.id, *values)
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), chosen))
