"""Working copies and revisions of texts have their translations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0096"
down_revision = "0095"


def upgrade() -> None:
    for kind in ("post", "page"):
        for table in (f"{kind}_revisions", f"{kind}_working_copies"):
            op.add_column(table, sa.Column("translations", types.Json(), nullable=True))
        # A copy that goes live replaces all of the text that it has.
        op.execute(
            f"UPDATE {kind}_working_copies SET translations = (SELECT translations FROM {kind}s "  # noqa: S608
            f"WHERE {kind}s.tenant_id = {kind}_working_copies.tenant_id "
            f"AND {kind}s.id = {kind}_working_copies.{kind}_id)"
        )
