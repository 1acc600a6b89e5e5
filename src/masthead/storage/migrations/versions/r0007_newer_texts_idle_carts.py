"""Posts and pages know which of their texts is the newer one; carts know since when they are idle.

A cart that has been idle for longer than a day already is not reported: its owner may have been
waiting for years.
"""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa
from alembic import op

from masthead import clock
from masthead.storage import dialects as types

revision = "0007"
down_revision = "0006"

_EMPTY = ("null", "[]", "{}", '""', "0", "false")
_carts = sa.table(
    "carts",
    *(sa.column(n) for n in ("status", "items", "last_activity", "updated", "idle_since")),
)


def upgrade() -> None:
    for table in ("posts", "pages"):
        op.add_column(table, _column("content_source", "html"))
        texts = sa.table(table, sa.column("content_source"), sa.column("content_json"))
        op.execute(
            sa.update(texts)
            .where(texts.c.content_json.is_not(None))
            .values(content_source=sa.text("'json'"))
        )
    for name in ("abandoned_at", "idle_since"):
        op.add_column("carts", _column(name, ""))
    op.execute("UPDATE carts SET abandoned_at = updated WHERE status = 'abandoned'")
    op.execute(_mark_idle())
    is_idle = sa.text("idle_since != ''")
    op.create_index(
        op.f("ix_carts__idle_since"),
        "carts",
        ["idle_since"],
        unique=False,
        sqlite_where=is_idle,
        postgresql_where=is_idle,
    )


def _column(name: str, default: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text(f"'{default}'"), nullable=False)


def _mark_idle() -> sa.Update:
    c, yesterday = _carts.c, clock.to_text(clock.now() - timedelta(days=1))
    since = sa.case((c.last_activity == _text(""), c.updated), else_=c.last_activity)
    return (
        sa.update(_carts)
        .where(
            c.status == _text("open"),
            sa.cast(c["items"], sa.Text()).not_in([_text(each) for each in _EMPTY]),
            since > _text(yesterday),
        )
        .values(idle_since=since)
    )


def _text(value: str) -> sa.ColumnElement[str]:
    """Written into the statement: a script for PostgreSQL has no parameters."""
    return sa.literal_column(f"'{value}'")
