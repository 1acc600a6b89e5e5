"""Lists by title are in the order of letters: posts and pages have a column with a key for it.

The worker makes the keys, because SQL can't. Not rolling: a text that an older process writes would
have none.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.base import clock
from masthead.storage import dialects as types

revision = "0095"
down_revision = "0094"

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    for table in ("posts", "pages"):
        op.add_column(
            table,
            sa.Column("title_letters", types.Text(), server_default=sa.text("''"), nullable=False),
        )
        op.drop_index(f"ix_{table}__tenant_id_title_id", table_name=table)
        op.create_index(
            f"ix_{table}__tenant_id_title_letters_id", table, ["tenant_id", "title_letters", "id"]
        )
    now = clock.to_text(clock.now())
    values: list[sa.ColumnElement[Any]] = [
        sa.literal_column(f"'{each}'")
        for each in ("orderoftitles00", "texts.order", "{}", now, now)
    ]
    op.execute(_jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values)))
