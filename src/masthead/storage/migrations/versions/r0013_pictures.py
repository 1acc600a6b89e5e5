"""Pictures have copies in several sizes and a focus; posts and pages name their translations.

The worker makes the copies of the pictures that are stored already.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead import clock
from masthead.storage import dialects as types

revision = "0013"
down_revision = "0012"

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    op.add_column(
        "media",
        sa.Column("picture_sizes", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    for name in ("focus_x", "focus_y"):
        op.add_column("media", sa.Column(name, types.Integer(), nullable=True))
    for table in ("posts", "pages"):
        op.add_column(table, sa.Column("translations", types.Json(), nullable=True))
    now: sa.ColumnElement[str] = sa.literal_column(f"'{clock.to_text(clock.now())}'")
    values = [
        sa.literal_column("'copyallpictures'"),
        sa.literal_column("'media.copy_all'"),
        sa.literal_column("'{}'"),
        now,
        now,
    ]
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values)))
