"""The proof of a site's domain is looked for again every week.

Of the domains that are served already nobody knows which have a proof and which an operator has
set: with a date long ago they are looked for once, and left alone if there is none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0041"
down_revision = "0040"

_settings = sa.table(
    "site_settings", sa.column("custom_domain", sa.Text()), sa.column("domain_check_at", sa.Text())
)


def upgrade() -> None:
    for name in ("domain_check_at", "domain_missing_since"):
        op.add_column(
            "site_settings",
            sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False),
        )
    op.create_index(
        op.f("ix_site_settings__domain_check_at"),
        "site_settings",
        ["domain_check_at"],
        unique=False,
        sqlite_where=sa.text("domain_check_at != ''"),
        postgresql_where=sa.text("domain_check_at != ''"),
    )
    op.execute(
        _settings.update()
        .where(_settings.c.custom_domain != sa.literal_column("''"))
        .values(domain_check_at=sa.literal_column("'1970-01-01T00:00:00.000Z'"))
    )
