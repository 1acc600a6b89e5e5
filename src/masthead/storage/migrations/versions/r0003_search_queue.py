"""Words wait for the search index by record; SQLite keeps events in the order of their key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0003"
down_revision = "0002"

_INDEX_WHAT_WAITS = (
    "INSERT INTO search_words (search_words, rowid, words) "
    "SELECT 'delete', position, indexed FROM search_pending WHERE indexed IS NOT NULL "
    "ORDER BY position",
    "INSERT INTO search_words (rowid, words) "
    "SELECT position, replace(' ' || words, ' ', ' ' || prefix) "
    "FROM search_pending CROSS JOIN search_documents USING (position) ORDER BY position",
)
_INDEX_AT_ONCE = (
    "DROP TRIGGER search_documents_insert",
    "DROP TRIGGER search_documents_update",
    "DROP TRIGGER search_documents_delete",
    "DROP TABLE search_pending",
    "CREATE TRIGGER search_documents_insert AFTER INSERT ON search_documents BEGIN "
    "INSERT INTO search_words (rowid, words) "
    "VALUES (new.position, replace(' ' || new.words, ' ', ' ' || new.prefix)); END",
    "CREATE TRIGGER search_documents_delete AFTER DELETE ON search_documents BEGIN "
    "INSERT INTO search_words (search_words, rowid, words) "
    "VALUES ('delete', old.position, replace(' ' || old.words, ' ', ' ' || old.prefix)); END",
)


def upgrade() -> None:
    op.create_table(
        "search_queue",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("collection", types.Text(), nullable=False),
        sa.Column("record_id", types.Text(), nullable=False),
        sa.Column("version", types.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "collection", "record_id", name="pk_search_queue"),
        sqlite_with_rowid=False,
    )
    share("search_queue", "tenant_id")
    if op.get_context().dialect.name == "sqlite":
        for statement in (*_INDEX_WHAT_WAITS, *_INDEX_AT_ONCE):
            op.execute(statement)
        _order_events_by_key()


def _order_events_by_key() -> None:
    op.execute("ALTER TABLE events RENAME TO events_before")
    for name in ("ux_events__tenant_id_id", *_EVENT_INDEXES):
        op.execute(f"DROP INDEX {name}")
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
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO events SELECT * FROM events_before ORDER BY 1, 2, 3")
    op.execute("DROP TABLE events_before")
    op.create_index("ux_events__tenant_id_id", "events", ["tenant_id", "id"], unique=True)
    for name, columns in _EVENT_INDEXES.items():
        op.create_index(name, "events", columns)


_EVENT_INDEXES = {
    "ix_events__tenant_id_name_version": ["tenant_id", "name", "version", "ordinal"],
    "ix_events__tenant_id_created": ["tenant_id", "created", "version"],
}
