"""A site has fonts, a width, a layout of its home page, more around every page, and code of its
owner."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0088"
down_revision = "0087"
rolling = True

_TEXTS = (
    *("fonts", "width", "home_layout", "footer_text", "site_logo_dark"),
    *("head_html", "foot_html"),
)


def upgrade() -> None:
    columns: list[sa.Column[Any]] = [
        *(
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
            for name in _TEXTS
        ),
        sa.Column("footer_links", types.Json(), nullable=True),
        sa.Column("announcement", types.Json(), nullable=True),
        sa.Column("social", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("code_allowed", types.Flag(), server_default=sa.text("false"), nullable=False),
    ]
    for column in columns:
        op.add_column("site_settings", column)
