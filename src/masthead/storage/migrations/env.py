"""Alembic executes this file for each command. `run.py` passes the connection, if any."""

from __future__ import annotations

from typing import Any

from alembic import context

from masthead.storage.full_text import FTS_TABLE_PREFIX


def _is_declared(name: str | None, kind: str, _parents: Any) -> bool:
    return kind != "table" or not (name or "").startswith(FTS_TABLE_PREFIX)


if context.is_offline_mode():
    # "named", because the usual style would double every percent sign of the SQL.
    context.configure(dialect_name="postgresql", dialect_opts={"paramstyle": "named"})
else:
    attributes = context.config.attributes
    context.configure(
        connection=attributes["connection"],
        target_metadata=attributes.get("metadata"),
        process_revision_directives=attributes.get("process_revision_directives"),
        include_name=_is_declared,
        render_item=attributes.get("render_item"),
        user_module_prefix="types.",
    )

# Without a transaction of Alembic's own: the caller has one, together with the lock.
context.run_migrations()
