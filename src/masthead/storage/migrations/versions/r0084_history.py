"""Revisions are thinned as they get older. Working copies have states, too.

The worker gives the stored revisions their dates, because their texts are too many to rewrite here.
Not rolling: older processes would store revisions without one.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.base import clock
from masthead.storage import dialects as types

revision = "0084"
down_revision = "0083"

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    for singular in ("page", "post"):
        table, pointer = f"{singular}_revisions", f"{singular}_id"
        for name, column in ((table, "thin_at"), (f"{singular}_working_copies", "revised_at")):
            op.add_column(
                name, sa.Column(column, types.Text(), server_default=sa.text("''"), nullable=False)
            )
        op.create_index(
            op.f(f"ix_{table}__tenant_id_{pointer}_saved_at_status"),
            table,
            ["tenant_id", pointer, "saved_at", "status"],
        )
        op.create_index(
            op.f(f"ix_{table}__thin_at"),
            table,
            ["thin_at"],
            sqlite_where=sa.text("thin_at != ''"),
            postgresql_where=sa.text("thin_at != ''"),
        )
    op.execute(_date_revisions(clock.to_text(clock.now())))


def _date_revisions(now: str) -> sa.Insert:
    """A job for each tenant with revisions."""
    values: list[sa.ColumnElement[Any]] = [
        sa.literal_column(f"'{each}'")
        for each in ("daterevisions01", "revisions.date", "{}", now, now)
    ]
    stored = [
        sa.select(sa.table(name, sa.column("tenant_id")).c.tenant_id)
        for name in ("post_revisions", "page_revisions")
    ]
    chosen = sa.select(_tenants.c.id, *values).where(_tenants.c.id.in_(sa.union(*stored)))
    return _jobs.insert().from_select(list(_jobs.c.keys()), chosen)
