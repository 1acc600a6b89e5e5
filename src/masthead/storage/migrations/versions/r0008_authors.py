"""Staff have a role and what readers may learn of them; posts have authors.

Everyone who could sign in until now is an owner.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for name, default in (
        ("role", "owner"),
        ("name", ""),
        ("slug", ""),
        ("bio", ""),
        ("picture", ""),
    ):
        op.add_column("_superusers", _text(name, default))
    has_slug = sa.text("slug != ''")
    op.create_index(
        op.f("ix__superusers__tenant_id_slug"),
        "_superusers",
        ["tenant_id", "slug"],
        unique=True,
        sqlite_where=has_slug,
        postgresql_where=has_slug,
    )
    op.add_column(
        "posts",
        sa.Column("authors", types.Json(), server_default=sa.text("'[]'"), nullable=False),
    )


def _text(name: str, default: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text(f"'{default}'"), nullable=False)
