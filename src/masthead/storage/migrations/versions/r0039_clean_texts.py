"""Posts and pages hold what readers see of their text, made when the text is saved.

The worker makes it for the texts that are stored already. Until then pages make it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead import clock
from masthead.storage import dialects as types

revision = "0039"
down_revision = "0038"

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    for table in ("posts", "pages"):
        op.add_column(
            table,
            sa.Column("content_clean", types.Text(), server_default=sa.text("''"), nullable=False),
        )
        op.add_column(
            table,
            sa.Column("clean_rules", types.Integer(), server_default=sa.text("0"), nullable=False),
        )
    text = sa.literal_column
    now: sa.ColumnElement[str] = text(f"'{clock.to_text(clock.now())}'")
    job = ("'cleanstoredtxt1'", "'texts.clean'", "'{}'")
    values = [*(text(each) for each in job), now, now]
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values)))
