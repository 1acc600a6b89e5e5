"""Media items have a caption, an uploader, counts of their uses and the names of replaced files.

Words of the items that are stored already wait for the search index. The worker counts the uses.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead import clock
from masthead.storage import dialects as types

revision = "0024"
down_revision = "0023"

_tenants = sa.table("tenants", sa.column("id"))
_media = sa.table("media", sa.column("tenant_id"), sa.column("id"))
_queue = sa.table(
    "search_queue",
    *(sa.column(name) for name in ("tenant_id", "collection", "record_id", "version")),
)
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    for name in ("caption", "uploaded_by"):
        _add(name, types.Text(), "''")
    for name in ("uses", "draft_uses"):
        _add(name, types.Integer(), "0")
    for name in ("library_lists", "earlier_files"):
        _add(name, types.Json(), "'[]'")
    text = sa.literal_column
    waiting = sa.select(_media.c.tenant_id, text("'media'"), _media.c.id, text("0"))
    op.execute(_queue.insert().from_select(list(_queue.c.keys()), waiting))
    now: sa.ColumnElement[str] = text(f"'{clock.to_text(clock.now())}'")
    job = ("'countmediauses0'", "'media.count_uses'", "'{}'")
    values = [*(text(each) for each in job), now, now]
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values)))


def _add(name: str, kind: Any, default: str) -> None:
    op.add_column("media", sa.Column(name, kind, server_default=sa.text(default), nullable=False))
