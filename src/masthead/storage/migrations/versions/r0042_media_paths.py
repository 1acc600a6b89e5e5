"""The address of a file is stored without its host, which may change.

A command in a shell stored the host that the shell's settings named.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"

_media = sa.table(
    "media",
    sa.column("id", sa.Text()),
    sa.column("file", sa.Text()),
    sa.column("url", sa.Text()),
)


def upgrade() -> None:
    path: sa.ColumnElement[str] = (
        sa.literal_column("'/media/'") + _media.c.id + sa.literal_column("'/'") + _media.c.file
    )
    op.execute(_media.update().values(url=path))
