"""Events are appended: in SQLite's own order of rows, and in the order of their ids, which begin
with the time. Nothing looks for them by their time alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0006"
down_revision = "0005"

_BY_NAME = ["tenant_id", "name", "version", "ordinal"]


def upgrade() -> None:
    op.drop_index("ix_events__tenant_id_created", table_name="events")
    op.drop_index("ux_events__tenant_id_id", table_name="events")
    if op.get_context().dialect.name == "sqlite":
        _append_events()
    op.create_index("ux_events__id_tenant_id", "events", ["id", "tenant_id"], unique=True)


def _append_events() -> None:
    op.drop_index("ix_events__tenant_id_name_version", table_name="events")
    op.execute("ALTER TABLE events RENAME TO events_before")
    op.create_table(
        "events",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("version", types.Integer(), nullable=False),
        sa.Column("ordinal", types.Integer(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("name", types.Text(), nullable=False),
        sa.Column("collection", types.Text(), nullable=False),
        sa.Column("record_id", types.Text(), nullable=False),
        sa.Column("payload", types.Json(), nullable=False),
        sa.Column("created", types.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "version", "ordinal", name="pk_events"),
    )
    op.execute("INSERT INTO events SELECT * FROM events_before ORDER BY created, version, ordinal")
    op.execute("DROP TABLE events_before")
    op.create_index("ix_events__tenant_id_name_version", "events", _BY_NAME)
