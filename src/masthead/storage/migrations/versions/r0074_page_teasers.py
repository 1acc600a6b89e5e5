"""Pages have what posts have for lists, search engines and other sites; texts are sorted by their
publication."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0074"
down_revision = "0073"
rolling = True


def upgrade() -> None:
    for table in ("pages", "page_working_copies", "page_revisions"):
        for name in ("excerpt", "featured_image", "seo_title", "seo_description"):
            op.add_column(
                table, sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
            )
    for table in ("pages", "posts"):
        op.create_index(
            f"ix_{table}__tenant_id_published_at_id", table, ["tenant_id", "published_at", "id"]
        )
