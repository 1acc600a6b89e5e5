"""A post can have several mailings to a newsletter, of which at most one has reached anyone: the
transaction that makes one checks it, under the site's write lock."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0072"
down_revision = "0071"
rolling = True

_NAME = "ix_mailings__tenant_id_post_id_newsletter"
_COLUMNS = ("tenant_id", "post_id", "newsletter")


def upgrade() -> None:
    has_post = sa.text("post_id != ''")
    op.drop_index(_NAME, table_name="mailings")
    op.create_index(
        _NAME, "mailings", list(_COLUMNS), sqlite_where=has_post, postgresql_where=has_post
    )
