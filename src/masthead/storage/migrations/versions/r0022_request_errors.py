"""The last errors of the service are stored by request id."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    names = ("request_id", "tenant_id", "created", "method", "path", "error", "trace")
    op.create_table(
        "request_errors",
        *(sa.Column(name, types.Text(), nullable=False) for name in names),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_request_errors")),
    )
    op.create_index("ix_request_errors__created", "request_errors", ["created"], unique=False)
    share("request_errors", "tenant_id")
