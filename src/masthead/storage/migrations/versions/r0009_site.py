"""Sites have a colour, a language, a time zone, links and a theme; posts a summary for lists.

The worker puts the posts that are published already into the site's lists.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead import clock
from masthead.storage import dialects as types

revision = "0009"
down_revision = "0008"

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    for name in ("accent_color", "language", "time_zone", "theme"):
        op.add_column("site_settings", _text(name))
    op.add_column("site_settings", sa.Column("navigation", types.Json(), nullable=True))
    op.add_column("posts", _text("summary"))
    op.add_column(
        "posts",
        sa.Column("reading_minutes", types.Integer(), server_default=sa.text("0"), nullable=False),
    )
    now: sa.ColumnElement[str] = sa.literal_column(f"'{clock.to_text(clock.now())}'")
    values = [
        sa.literal_column("'postsintolists0'"),
        sa.literal_column("'posts.list'"),
        sa.literal_column("'{}'"),
        now,
        now,
    ]
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values)))


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
