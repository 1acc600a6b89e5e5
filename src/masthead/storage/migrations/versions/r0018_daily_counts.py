"""Counts per day, for charts that read no rows. Posts and members of the last 400 days count, and
the deliveries that are still in the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0018"
down_revision = "0017"

_COUNTED = """
INSERT INTO daily_counts (tenant_id, metric, subject, day, total)
SELECT tenant_id, '{metric}', '', substr({moment}, 1, 10), count(*) FROM {table}
WHERE {moment} >= '{since}' AND {condition}
GROUP BY tenant_id, substr({moment}, 1, 10)
"""
# The items of published authors have the date of publication; '' is a post without authors.
_OF_AUTHORS = """
INSERT INTO daily_counts (tenant_id, metric, subject, day, total)
SELECT tenant_id, 'posts.published', value, substr(created, 1, 10), count(*) FROM listed_values
WHERE collection = 'posts' AND field = 'published authors' AND value <> '' AND created >= '{since}'
GROUP BY tenant_id, value, substr(created, 1, 10)
"""


def upgrade() -> None:
    op.create_table(
        "daily_counts",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("metric", types.Text(), nullable=False),
        sa.Column("subject", types.Text(), nullable=False),
        sa.Column("day", types.Text(), nullable=False),
        sa.Column("total", types.Integer(), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "metric", "subject", "day", name=op.f("pk_daily_counts")
        ),
    )
    op.create_index("ix_daily_counts__day", "daily_counts", ["day"])
    since = f"{datetime.now(UTC) - timedelta(days=400):%Y-%m-%d}"
    for metric, table, moment, condition in (
        ("posts.published", "posts", "published_at", "status = 'published'"),
        ("members.joined", "blog_members", "created", "true"),
        ("deliveries.delivered", "webhook_deliveries", "updated", "state = 'delivered'"),
        ("deliveries.died", "webhook_deliveries", "updated", "state = 'dead'"),
    ):
        values = {"metric": metric, "table": table, "moment": moment, "condition": condition}
        op.execute(_COUNTED.format(since=since, **values))
    op.execute(_OF_AUTHORS.format(since=since))
    share("daily_counts", "tenant_id")
